//! Pages that are being read: who asks for one of them waits for it, instead of asking its site a second time.

use std::{collections::HashMap, sync::Arc};

use futures::{
    FutureExt as _,
    future::{BoxFuture, WeakShared},
};
use parking_lot::Mutex;

use super::{NotRead, WebPage};

/// The address, and whether the reader of others may be asked.
type Key = (String, bool);
type Read = Result<Arc<WebPage>, NotRead>;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Flights {
    /// Locked for map access only.
    open: Mutex<HashMap<Key, WeakShared<BoxFuture<'static, Read>>>>,
}

impl Flights {
    /// Returns what comes of `read`, or of the one under way for the same page.
    ///
    /// # Cancel safety
    /// The read ends when all who wait for it drop the future.
    pub(super) async fn join(&self, key: Key, read: impl Future<Output = Read> + Send + 'static) -> Read {
        let flight = {
            let mut open = self.open.lock();
            let under_way = open.get(&key).and_then(WeakShared::upgrade);
            under_way.unwrap_or_else(|| {
                open.retain(|_, flight| flight.upgrade().is_some());
                let flight = read.boxed().shared();
                open.extend(flight.downgrade().map(|weak| (key, weak)));
                flight
            })
        };
        flight.await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::Notify;

    use super::*;

    fn key() -> Key {
        ("https://a.test/".to_owned(), false)
    }

    #[tokio::test]
    async fn a_page_is_read_once_by_all_who_ask_meanwhile() {
        let (flights, begun, done) = (Flights::default(), Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
        let read = || {
            let (begun, done) = (Arc::clone(&begun), Arc::clone(&done));
            async move {
                begun.fetch_add(1, Ordering::Relaxed);
                done.notified().await;
                Err(NotRead::new("there is no such page"))
            }
        };
        let mut first = Box::pin(flights.join(key(), read()));
        let mut second = Box::pin(flights.join(key(), read()));
        assert!(futures::poll!(&mut first).is_pending() && futures::poll!(&mut second).is_pending());
        // Who began it leaves, and the other one gets it nevertheless.
        drop(first);
        done.notify_one();
        assert_eq!(second.await.unwrap_err().to_string(), "there is no such page");
        assert_eq!(begun.load(Ordering::Relaxed), 1);
        // It is over, so the next one reads it again.
        done.notify_one();
        let _ = flights.join(key(), read()).await;
        assert_eq!(begun.load(Ordering::Relaxed), 2);
        assert!(flights.open.lock().len() <= 1);
    }

    #[tokio::test]
    async fn a_read_that_nobody_waits_for_ends() {
        let (flights, held) = (Flights::default(), Arc::new(()));
        let watch = Arc::downgrade(&held);
        let mut only = Box::pin(flights.join(key(), async move {
            let _held = held;
            std::future::pending().await
        }));
        assert!(futures::poll!(&mut only).is_pending() && watch.upgrade().is_some());
        drop(only);
        assert!(watch.upgrade().is_none());
    }
}
