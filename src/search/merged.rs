//! Several engines asked at once, their hits merged by rank.

use std::collections::HashMap;

use futures::future::{BoxFuture, join_all, try_join_all};

use super::{Caller, Engine, Error, Hit, Limits, Search, Skipped};

/// How much a first place is worth more than a later one; the constant of reciprocal rank fusion
/// (Cormack, Clarke and Büttcher, 2009).
const RANK_CONSTANT: f64 = 60.0;

#[derive(Debug)]
pub struct Merged {
    engines: Vec<Engine>,
}

impl Merged {
    pub fn new(engines: Vec<Engine>) -> Self {
        Self { engines }
    }

    /// Answers as long as one engine does; those that fail are logged.
    async fn ask(&self, query: &str, limits: &Limits, caller: &dyn Caller) -> Result<Vec<Hit>, Error> {
        let answers = join_all(self.engines.iter().map(|engine| engine.search(query, limits, caller))).await;
        let (mut lists, mut failure) = (Vec::new(), None);
        for (engine, answer) in self.engines.iter().zip(answers) {
            match answer {
                Ok(hits) => lists.push(hits),
                Err(error) => {
                    tracing::warn!(engine = engine.name(), %error, "one of several search engines failed");
                    failure.get_or_insert(error);
                }
            }
        }
        match failure {
            Some(error) if lists.is_empty() => Err(error),
            _ => Ok(fused(lists, limits.max_results)),
        }
    }
}

impl Search for Merged {
    fn search<'a>(
        &'a self,
        query: &'a str,
        limits: &'a Limits,
        caller: &'a dyn Caller,
    ) -> BoxFuture<'a, Result<Vec<Hit>, Error>> {
        Box::pin(self.ask(query, limits, caller))
    }

    fn place(&self) -> String {
        self.engines.iter().map(Engine::place).collect::<Vec<_>>().join(", ")
    }

    fn open(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async { try_join_all(self.engines.iter().map(Engine::open)).await.map(drop) })
    }

    fn folder(&self) -> Option<&std::path::Path> {
        self.engines.iter().find_map(Engine::folder)
    }

    fn skipped(&self) -> Vec<Skipped> {
        self.engines.iter().flat_map(Engine::skipped).collect()
    }
}

/// One list of many: what stands high in several lists stands highest. Of a page that several engines found, the hit
/// that brings its text is kept, else the first.
fn fused(lists: Vec<Vec<Hit>>, max_results: usize) -> Vec<Hit> {
    let mut all: Vec<(f64, Hit)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for list in lists {
        for (rank, hit) in (1_u32..).zip(list) {
            let worth = 1.0 / (RANK_CONSTANT + f64::from(rank));
            match places.get(&hit.url) {
                None => {
                    places.insert(hit.url.clone(), all.len());
                    all.push((worth, hit));
                }
                Some(&place) => {
                    let (sum, known) = &mut all[place];
                    *sum += worth;
                    if known.raw_content.is_none() && hit.raw_content.is_some() {
                        *known = hit;
                    }
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
}
