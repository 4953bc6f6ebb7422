//! Whose document is parsed next.
//!
//! What runs read and what users give share the parsers: one of them is never lent to uploads, so that no upload keeps
//! a run waiting, and an owner has at most half of the rest, so that owners take turns. Nobody waits without a bound.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit},
    time::timeout,
};

use crate::domain::Owner;

/// Who waits for a document.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reader<'a> {
    /// A run, or the index of a folder.
    Run,
    /// The owner who gives it to a thread.
    Upload(&'a Owner),
}

/// The places at the parsers; each queue is served in the order of its coming.
#[derive(Debug)]
pub(super) struct Turns {
    all: Semaphore,
    uploads: Semaphore,
    /// Places for the uploads of one owner.
    share: usize,
    /// Of owners with uploads at the moment. Held to look one up.
    owners: Mutex<HashMap<Owner, Arc<Semaphore>>>,
}

/// The right to use a parser, given back when dropped.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    _any: SemaphorePermit<'a>,
    _upload: Option<(SemaphorePermit<'a>, OwnedSemaphorePermit)>,
}

impl Turns {
    /// Turns at so many parsers.
    pub fn new(parsers: usize) -> Self {
        let uploads = parsers.saturating_sub(1).max(1);
        Self {
            all: Semaphore::new(parsers.max(1)),
            uploads: Semaphore::new(uploads),
            share: (uploads / 2).max(1),
            owners: Mutex::default(),
        }
    }

    /// Waits for a parser; `None` when none is free within `limit`.
    ///
    /// # Cancel safety
    /// Who is dropped loses the place in the queue and takes nothing.
    pub async fn take(&self, reader: Reader<'_>, limit: Duration) -> Option<Turn<'_>> {
        timeout(limit, self.wait(reader)).await.ok().flatten()
    }

    /// Waits for a turn. An owner waits for the own share first: so each has no more than that in the queue of all
    /// uploads. None of the semaphores is ever closed.
    async fn wait(&self, reader: Reader<'_>) -> Option<Turn<'_>> {
        let upload = match reader {
            Reader::Run => None,
            Reader::Upload(owner) => {
                let own = self.share_of(owner).acquire_owned().await.ok()?;
                Some((self.uploads.acquire().await.ok()?, own))
            }
        };
        Some(Turn { _any: self.all.acquire().await.ok()?, _upload: upload })
    }

    fn share_of(&self, owner: &Owner) -> Arc<Semaphore> {
        let mut owners = self.owners.lock();
        // Nobody holds or awaits a place of those that are held here alone.
        owners.retain(|_, share| Arc::strong_count(share) > 1);
        Arc::clone(owners.entry(owner.clone()).or_insert_with(|| Arc::new(Semaphore::new(self.share))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn a_parser_is_kept_for_runs_and_owners_have_shares() {
        let [one, other, third, fourth] = ["one", "other", "third", "fourth"].map(Owner::named);
        let turns = Turns::new(6);
        let take =
            async |reader| timeout(100 * NOW, turns.take(reader, NOW)).await.expect("nobody waits without a bound");
        let ones = [take(Reader::Upload(&one)).await, take(Reader::Upload(&one)).await];
        assert!(ones.iter().all(Option::is_some));
        assert!(take(Reader::Upload(&one)).await.is_none(), "two of five are the share of an owner");
        let others = [take(Reader::Upload(&other)).await, take(Reader::Upload(&other)).await];
        assert!(others.iter().all(Option::is_some));
        let (last, kept) = (take(Reader::Upload(&third)).await, take(Reader::Run).await);
        assert!(last.is_some() && kept.is_some());
        assert!(take(Reader::Run).await.is_none(), "all are taken");
        drop(kept);
        assert!(take(Reader::Upload(&fourth)).await.is_none(), "what is left is kept for runs");
        assert!(take(Reader::Run).await.is_some());
        drop((ones, others, last));
        assert!(take(Reader::Upload(&one)).await.is_some(), "places come back");
        assert_eq!(turns.owners.lock().len(), 1, "owners without uploads are forgotten");
    }

    /// One place for uploads: an owner's next one stands behind the others that came meanwhile.
    #[tokio::test]
    async fn owners_take_turns() {
        let (many, few) = (Owner::named("many"), Owner::named("few"));
        let turns = Turns::new(2);
        let order = Mutex::new(Vec::new());
        let upload = async |owner: &Owner, name: &'static str| {
            let turn = turns.take(Reader::Upload(owner), Duration::from_secs(60)).await.unwrap();
            order.lock().push(name);
            tokio::task::yield_now().await;
            drop(turn);
        };
        tokio::join!(upload(&many, "m1"), upload(&many, "m2"), upload(&many, "m3"), upload(&few, "f1"));
        assert_eq!(order.into_inner(), ["m1", "f1", "m2", "m3"]);
    }
}
