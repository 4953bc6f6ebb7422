//! What of a run is under way, so that a process which stops knows when to let it go.

use tokio::sync::watch;

/// Counts the work of a run. Cheap: a number behind a lock, and nobody is woken unless the run winds down.
#[derive(Debug, Default)]
pub(super) struct Activity {
    state: watch::Sender<State>,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    winding_down: bool,
    working: usize,
    /// Of those at work, the ones that wait with nothing under way.
    resting: usize,
}

impl Activity {
    pub fn wind_down(&self) {
        self.state.send_modify(|state| state.winding_down = true);
    }

    /// Resolves once the run winds down.
    pub async fn stopping(&self) {
        self.reaches(|state| state.winding_down).await;
    }

    /// Resolves once the run winds down and whatever is at work rests. A run without any work ends by itself, at its
    /// next step at the latest.
    pub async fn is_at_rest(&self) {
        self.reaches(|state| state.winding_down && state.resting > 0 && state.working <= state.resting).await;
    }

    async fn reaches(&self, condition: impl Fn(&State) -> bool) {
        // The sender is a field of this value, so the wait ends by the condition alone.
        let _ = self.state.subscribe().wait_for(condition).await;
    }

    pub fn working(&self) -> Working {
        self.count(|state| state.working += 1);
        Working(self.state.clone())
    }

    pub fn resting(&self) -> Resting {
        self.count(|state| state.resting += 1);
        Resting(self.state.clone())
    }

    fn count(&self, change: impl FnOnce(&mut State)) {
        count(&self.state, change);
    }
}

fn count(state: &watch::Sender<State>, change: impl FnOnce(&mut State)) {
    state.send_if_modified(|state| {
        change(state);
        state.winding_down
    });
}

/// A guard that work holds which is under way.
#[derive(Debug)]
pub(super) struct Working(watch::Sender<State>);

impl Drop for Working {
    fn drop(&mut self) {
        count(&self.0, |state| state.working -= 1);
    }
}

/// A guard that work holds while it waits with nothing under way.
#[derive(Debug)]
pub struct Resting(watch::Sender<State>);

impl Drop for Resting {
    fn drop(&mut self) {
        count(&self.0, |state| state.resting -= 1);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn a_run_is_at_rest_when_it_winds_down_and_all_its_work_rests() {
        let activity = Activity::default();
        let check = |rests: bool| assert_eq!(activity.is_at_rest().now_or_never().is_some(), rests);
        let (one, two) = (activity.working(), activity.working());
        let rest = activity.resting();
        check(false);
        activity.wind_down();
        assert!(activity.stopping().now_or_never().is_some());
        check(false);
        drop(one);
        check(true);
        drop(rest);
        check(false);
        drop(two);
        check(false);
    }
}
