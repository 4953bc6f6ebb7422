//! `ResearchComplete`: the agent says that it is done; taken at its word once it has worked.

use futures::{FutureExt as _, future::BoxFuture};
use serde_json::Value;

use super::{Admitted, Refusal, Site, Tool, ToolError, ToolOutput, no_arguments, spec};
use crate::{
    context::Cx,
    domain::ToolKind,
    llm::{ToolCall, ToolSpec},
    prompts::Prompts,
};

const NAME: &str = "ResearchComplete";

#[derive(Debug)]
pub struct Complete {
    spec: ToolSpec,
    /// The answer to an agent with empty hands.
    nudge: String,
}

impl Complete {
    pub fn of_supervisor(prompts: &Prompts) -> Self {
        Self::new(prompts, "tools/research_complete_supervisor", "nudge_supervisor")
    }

    pub fn of_researcher(prompts: &Prompts) -> Self {
        Self::new(prompts, "tools/research_complete_researcher", "nudge_researcher")
    }

    fn new(prompts: &Prompts, description: &str, nudge: &str) -> Self {
        let spec = spec(NAME, prompts.text(description, ()), no_arguments());
        Self { spec, nudge: prompts.text(nudge, ()) }
    }
}

impl Tool for Complete {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Complete
    }

    fn is_one_step(&self) -> bool {
        false
    }

    /// Whatever the arguments are, they mean the same.
    fn admit(&mut self, _cx: &Cx, _turn: &str, _call: &ToolCall) -> Result<Admitted, Refusal> {
        Ok(Admitted::new(Value::Null))
    }

    fn call<'a>(
        &'a self,
        _cx: &'a Cx,
        site: Site<'a>,
        _arguments: Value,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let text = if site.has_worked { "" } else { &self.nudge };
        async move { Ok(ToolOutput::text(text)) }.boxed()
    }
}
