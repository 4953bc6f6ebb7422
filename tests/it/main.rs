mod fake_vendor;
mod llm;
