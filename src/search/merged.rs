//! Several engines asked at once, their hits merged by rank.

use std::{collections::HashMap, time::Duration};

use futures::future::{BoxFuture, join_all, try_join_all};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{Caller, Engine, Error, Gate, Hit, Limits, Opened, Results, Search, Skipped};
use crate::{
    domain::{ModelName, Usage},
    net::{Wait, same_page},
};

/// How much a first place is worth more than a later one; the constant of reciprocal rank fusion
/// (Cormack, Clarke and Büttcher, 2009).
const RANK_CONSTANT: f64 = 60.0;

/// What one engine may wait, for its rate limit or an outage, unless all fail.
const PATIENCE: Duration = Duration::from_secs(20);

/// Several engines, as one run asks them.
#[derive(Debug)]
pub struct Merged {
    engines: Vec<Engine>,
    /// Engines that would fail in the same way again, by their places. Locked for map access only.
    off: Mutex<HashMap<usize, Error>>,
}

impl Merged {
    pub fn new(engines: Vec<Engine>) -> Self {
        Self { engines, off: Mutex::default() }
    }

    /// Answers as long as one engine does; `caller` learns of those that fail. An engine's rate limit or outage is
    /// waited for 20 s at most unless all engines fail, and one that refused its key is not asked again.
    async fn ask(&self, query: &str, limits: &Limits, caller: &dyn Caller) -> Result<Vec<Hit>, Error> {
        let ends = Instant::now() + PATIENCE;
        let bounded = WithDeadline { caller, ends: caller.ends().map_or(ends, |other| other.min(ends)) };
        let off = self.off();
        let asked: Vec<_> = self.engines.iter().enumerate().filter(|(place, _)| !off.contains_key(place)).collect();
        let answers = join_all(asked.iter().map(|(_, engine)| engine.search(query, limits, &bounded))).await;
        let (mut lists, mut failed) = (Vec::new(), Vec::new());
        for ((place, engine), answer) in asked.into_iter().zip(answers) {
            match answer {
                Ok(hits) => lists.push(hits),
                Err(error) => failed.push((place, engine, error)),
            }
        }
        self.switch_off(&failed);
        if lists.is_empty() {
            return self.ask_patiently(query, limits, caller, failed, off).await;
        }
        for (_, engine, error) in failed {
            caller.lost(engine.name(), &error.to_string());
        }
        Ok(fused(lists, limits.max_results))
    }

    /// When none has answered: waits for the first whose trouble may pass.
    async fn ask_patiently(
        &self,
        query: &str,
        limits: &Limits,
        caller: &dyn Caller,
        failed: Vec<(usize, &Engine, Error)>,
        off: HashMap<usize, Error>,
    ) -> Result<Vec<Hit>, Error> {
        let may_pass = |error: &Error| matches!(error, Error::RateLimited { .. } | Error::Unavailable(_));
        if let Some((_, engine, _)) = failed.iter().find(|(_, _, error)| may_pass(error)) {
            return engine.search(query, limits, caller).await;
        }
        // One engine's refused key is no reason to end a run whose other engines may answer the next query.
        let errors = failed.into_iter().map(|(_, _, error)| error).chain(off.into_values());
        let mildest = errors.min_by_key(Error::is_lasting);
        Err(mildest.unwrap_or_else(|| Error::Unavailable("there is no engine to ask".to_owned())))
    }

    fn off(&self) -> HashMap<usize, Error> {
        self.off.lock().clone()
    }

    fn switch_off(&self, failed: &[(usize, &Engine, Error)]) {
        let lasting = failed.iter().filter(|(_, _, error)| error.is_lasting());
        self.off.lock().extend(lasting.map(|(place, _, error)| (*place, error.clone())));
    }
}

/// A caller with less time.
struct WithDeadline<'a> {
    caller: &'a dyn Caller,
    ends: Instant,
}

impl Caller for WithDeadline<'_> {
    fn waiting(&self, wait: Wait) {
        self.caller.waiting(wait);
    }

    fn resumed(&self, name: &str) {
        self.caller.resumed(name);
    }

    fn lost(&self, name: &str, reason: &str) {
        self.caller.lost(name, reason);
    }

    fn billed(&self, usage: &Usage) {
        self.caller.billed(usage);
    }

    fn run(&self) -> u128 {
        self.caller.run()
    }

    fn ends(&self) -> Option<Instant> {
        Some(self.ends)
    }

    fn gate(&self) -> &dyn Gate {
        self.caller.gate()
    }
}

impl Search for Merged {
    fn search<'a>(&'a self, query: &'a str, limits: &'a Limits, caller: &'a dyn Caller) -> Results<'a> {
        Box::pin(self.ask(query, limits, caller))
    }

    fn place(&self) -> String {
        self.engines.iter().map(Engine::place).collect::<Vec<_>>().join(", ")
    }

    fn open(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async { try_join_all(self.engines.iter().map(Engine::open)).await.map(drop) })
    }

    fn model(&self) -> Option<&ModelName> {
        self.engines.iter().find_map(Engine::model)
    }

    fn folder(&self) -> Option<std::path::PathBuf> {
        self.engines.iter().find_map(Engine::folder)
    }

    fn skipped(&self) -> Vec<Skipped> {
        self.engines.iter().flat_map(Engine::skipped).collect()
    }

    fn document<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Result<Option<Opened>, Error>> {
        Box::pin(first_opened(self.engines.iter().map(move |engine| engine.document(address))))
    }
}

/// The first document that is there. One who cannot say whether it has it does not keep the others from being asked.
///
/// # Errors
/// The first one's who could not say, when nobody else has it.
pub(super) async fn first_opened(
    asked: impl IntoIterator<Item = impl Future<Output = Result<Option<Opened>, Error>>>,
) -> Result<Option<Opened>, Error> {
    let mut unsaid = None;
    for asked in asked {
        match asked.await {
            Ok(Some(opened)) => return Ok(Some(opened)),
            Ok(None) => {}
            Err(error) => unsaid = unsaid.or(Some(error)),
        }
    }
    unsaid.map_or(Ok(None), Err)
}

/// One list of many: what stands high in several lists stands highest. Of a page that several engines found, under
/// whatever spelling of its address, the hit that brings its text is kept, else the first; a date is kept in any case.
fn fused(lists: Vec<Vec<Hit>>, max_results: usize) -> Vec<Hit> {
    let mut all: Vec<(f64, Hit)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for list in lists {
        for (rank, hit) in (1_u32..).zip(list) {
            let worth = 1.0 / (RANK_CONSTANT + f64::from(rank));
            let key = same_page(&hit.url);
            match places.get(&key) {
                None => {
                    places.insert(key, all.len());
                    all.push((worth, hit));
                }
                Some(&place) => {
                    let (sum, known) = &mut all[place];
                    *sum += worth;
                    let published = known.published.take().or(hit.published.clone());
                    if known.raw_content.is_none() && hit.raw_content.is_some() {
                        *known = hit;
                    }
                    known.published = published;
                }
            }
        }
    }
    // Stable: of equals, the hit of the engine that was named first comes first.
    all.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    all.into_iter().take(max_results).map(|(_, hit)| hit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(engine: &str, url: &str, text: Option<&str>) -> Hit {
        Hit {
            url: url.to_owned(),
            title: url.to_owned(),
            section: None,
            snippet: String::new(),
            raw_content: text.map(str::to_owned),
            score: None,
            published: None,
            engine: engine.to_owned(),
            about: super::super::About::default(),
        }
    }

    #[derive(Debug)]
    struct Failing(Error);

    impl Search for Failing {
        fn search<'a>(&'a self, _: &'a str, _: &'a Limits, _: &'a dyn Caller) -> Results<'a> {
            Box::pin(std::future::ready(Err(self.0.clone())))
        }

        fn place(&self) -> String {
            String::new()
        }

        fn document<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<Opened>, Error>> {
            Box::pin(std::future::ready(Err(self.0.clone())))
        }
    }

    /// Has that document.
    #[derive(Debug)]
    struct Having(Option<Opened>);

    impl Search for Having {
        fn search<'a>(&'a self, _: &'a str, _: &'a Limits, caller: &'a dyn Caller) -> Results<'a> {
            caller.lost("a text", &caller.run().to_string());
            Box::pin(std::future::ready(Ok(Vec::new())))
        }

        fn place(&self) -> String {
            String::new()
        }

        fn document<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<Opened>, Error>> {
            Box::pin(std::future::ready(Ok(self.0.clone())))
        }
    }

    fn engine(search: impl Search + 'static) -> Engine {
        Engine::new(super::super::ROWS[0], Box::new(search))
    }

    #[tokio::test]
    async fn an_engine_that_fails_keeps_no_other_from_having_a_document() {
        let (failing, none) = (|| engine(Failing(Error::Documents("gone".to_owned()))), || engine(Having(None)));
        let having = engine(Having(Some(Opened { title: "Dues".to_owned(), ..Opened::default() })));
        let opened = Merged::new(vec![failing(), none(), having]).document("dues").await;
        assert_eq!(opened.unwrap().unwrap().title, "Dues");
        assert_eq!(Merged::new(vec![none(), none()]).document("dues").await, Ok(None));
        let error = Merged::new(vec![none(), failing(), none()]).document("dues").await;
        assert_eq!(error, Err(Error::Documents("gone".to_owned())));
    }

    #[tokio::test]
    async fn a_caller_hears_all_that_one_of_several_engines_says() {
        #[derive(Default)]
        struct Hearing(Mutex<Vec<(String, String)>>);

        impl Caller for Hearing {
            fn waiting(&self, _: Wait) {}

            fn lost(&self, name: &str, reason: &str) {
                self.0.lock().push((name.to_owned(), reason.to_owned()));
            }

            fn run(&self) -> u128 {
                7
            }
        }

        let (hearing, merged) = (Hearing::default(), Merged::new(vec![engine(Having(None))]));
        merged.ask("pumps", &Limits::default(), &hearing).await.unwrap();
        assert_eq!(hearing.0.into_inner(), [("a text".to_owned(), "7".to_owned())]);
    }

    #[tokio::test]
    async fn a_refused_key_is_the_error_only_if_every_key_is_refused() {
        let (auth, query) = (Error::Auth("no".to_owned()), Error::BadQuery("too odd".to_owned()));
        for (errors, expected) in [([&auth, &query], &query), ([&query, &auth], &query), ([&auth, &auth], &auth)] {
            let merged = Merged::new(errors.map(|error| engine(Failing(error.clone()))).into());
            for _ in 0..2 {
                let answer = merged.ask("pumps", &Limits::default(), &crate::net::Open).await;
                assert_eq!(answer.as_ref(), Err(expected));
            }
        }
    }

    #[test]
    fn what_several_engines_find_comes_first() {
        let one = vec![hit("one", "a", None), hit("one", "b", None), hit("one", "c", None)];
        let two = vec![hit("two", "d", None), hit("two", "c", Some("text"))];
        let merged = fused(vec![one, two], 3);
        let seen: Vec<_> = merged.iter().map(|hit| (&*hit.url, &*hit.engine)).collect();
        assert_eq!(seen, [("c", "two"), ("a", "one"), ("d", "two")]);
        assert!(fused(Vec::new(), 3).is_empty());
    }

    #[test]
    fn spellings_of_one_page_are_one_result() {
        let one = vec![hit("one", "https://arxiv.org/abs/3103.00001v2", None)];
        let dated =
            Hit { published: Some("2031-03-10".to_owned()), ..hit("two", "http://www.arxiv.org/pdf/3103.00001", None) };
        let merged = fused(vec![one, vec![dated]], 3);
        assert_eq!(merged.len(), 1);
        assert_eq!((&*merged[0].engine, merged[0].published.as_deref()), ("one", Some("2031-03-10")));
    }
}
