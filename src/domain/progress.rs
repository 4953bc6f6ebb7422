//! How events change a run's progress.

use super::{Event, ToolKind, Waiting, event::Phase};

/// What some events add to the [`super::Progress`] of their run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgressChange {
    /// The phase begun last, if one was.
    pub phase: Option<Phase>,
    /// The last word about waiting: what for, or that no call waits any more.
    pub waiting: Option<Option<Waiting>>,
    pub iterations: u64,
    pub researchers_started: u64,
    pub researchers_finished: u64,
    pub researchers_failed: u64,
    pub searches: u64,
    pub sources_found: u64,
    pub warnings: u64,
}

impl ProgressChange {
    /// Adds what one event says; events come in the order of the log.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::PhaseStarted { phase } => self.phase = Some(*phase),
            Event::SupervisorIteration { .. } => self.iterations += 1,
            Event::ResearcherStarted { .. } => self.researchers_started += 1,
            Event::ResearcherFinished { .. } => self.researchers_finished += 1,
            Event::ResearcherFailed { .. } => self.researchers_failed += 1,
            Event::ToolStarted { kind: ToolKind::Search, .. } => self.searches += 1,
            Event::SourceFound { .. } => self.sources_found += 1,
            Event::Warning { wait, detail, .. } => {
                self.warnings += 1;
                if let Some(wait) = wait {
                    self.waiting = Some(Some(Waiting::of(wait, detail)));
                }
            }
            Event::WaitEnded { .. } | Event::RunStarted { .. } | Event::RunResumed { .. } => self.waiting = Some(None),
            event if event.is_terminal() => self.waiting = Some(None),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::WarningCode;

    #[test]
    fn events_add_up_and_the_last_phase_counts() {
        let mut change = ProgressChange::default();
        let call = |kind: ToolKind| Event::ToolStarted {
            tool_call_id: "1".to_owned(),
            name: "some_tool".to_owned(),
            kind,
            server: None,
            args: serde_json::Value::Null,
        };
        let events = [
            Event::PhaseStarted { phase: Phase::Brief },
            Event::PhaseStarted { phase: Phase::Research },
            call(ToolKind::Search),
            call(ToolKind::Read),
            call(ToolKind::Search),
            Event::warning(WarningCode::OutputCut, "cut"),
        ];
        events.iter().for_each(|event| change.apply(event));
        let expected =
            ProgressChange { phase: Some(Phase::Research), searches: 2, warnings: 1, ..ProgressChange::default() };
        assert_eq!(change, expected);
        change.apply(&Event::RunCancelled { reason: String::new() });
        assert_eq!(change.waiting, Some(None));
    }
}
