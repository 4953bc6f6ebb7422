//! `think_tool`: the model writes down a reflection, which readers of the run see.

use futures::FutureExt as _;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Admitted, Refusal, Site, Tool, ToolFuture, ToolOutput, admitted, arguments, property, spec};
use crate::{
    context::Cx,
    domain::{Event, ToolKind},
    llm::{ToolCall, ToolSpec},
    prompts::Prompts,
};

const NAME: &str = "think_tool";

#[derive(Debug)]
pub struct Think {
    spec: ToolSpec,
}

#[derive(Deserialize)]
struct Arguments {
    reflection: String,
}

impl Think {
    pub fn new(prompts: &Prompts) -> Self {
        let description = prompts.text("tools/think_tool.reflection", ());
        let reflection = property("reflection", description, json!({"type": "string"}));
        Self { spec: spec(NAME, prompts.text("tools/think_tool", ()), reflection) }
    }
}

impl Tool for Think {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Think
    }

    /// Returns that it is none: its one effect is an event.
    fn is_one_step(&self) -> bool {
        false
    }

    fn admit(&mut self, _cx: &Cx, _turn: &str, call: &ToolCall) -> Result<Admitted, Refusal> {
        let Arguments { reflection } = arguments(call)?;
        Ok(Admitted::new(json!({"reflection": reflection})))
    }

    fn call<'a>(&'a self, cx: &'a Cx, site: Site<'a>, arguments: Value) -> ToolFuture<'a> {
        async move {
            let Arguments { reflection } = admitted(arguments)?;
            let text = format!("Reflection recorded: {reflection}");
            cx.mark(&format!("{}/thought/{}", site.turn, site.index), Event::Thought { text: reflection }).await?;
            Ok(ToolOutput::text(text))
        }
        .boxed()
    }
}
