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

    fn billed(&self, usage: &Usage) {
        self.caller.billed(usage);
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
        Box::pin(async move {
            for engine in &self.engines {
                if let Some(opened) = engine.document(address).await? {
                    return Ok(Some(opened));
                }
            }
            Ok(None)
        })
    }
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
    }

    #[tokio::test]
    async fn a_refused_key_is_the_error_only_if_every_key_is_refused() {
        let engine = |error: &Error| Engine::new(super::super::ROWS[0], Box::new(Failing(error.clone())));
        let (auth, query) = (Error::Auth("no".to_owned()), Error::BadQuery("too odd".to_owned()));
        for (errors, expected) in [([&auth, &query], &query), ([&query, &auth], &query), ([&auth, &auth], &auth)] {
            let merged = Merged::new(errors.into_iter().map(engine).collect());
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
