//! stub
pub fn extract(_question: &str, text: &str, max_chars: usize) -> String {
    text.chars().take(max_chars).collect()
}
