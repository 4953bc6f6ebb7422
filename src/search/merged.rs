//! Several engines asked at once, their hits merged by rank, and those that stand in when all of these fail.

use std::{collections::HashMap, time::Duration};

use futures::{
    StreamExt as _,
    future::{BoxFuture, join_all, try_join_all},
    stream::FuturesUnordered,
};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{CallContext, Corpus, Engine, Error, Gate, Hit, Limits, Opened, Results, Search, Skipped};
use crate::{
    domain::{ModelName, Usage},
    net::{Wait, same_page},
};

/// How much a first place is worth more than a later one; the constant of reciprocal rank fusion
/// (Cormack, Clarke and Büttcher, 2009).
const RANK_CONSTANT: f64 = 60.0;

/// What one engine may wait, for its rate limit or an outage, unless all fail.
const TIME_TO_ANSWER: Duration = Duration::from_secs(20);

/// How long an engine is left alone that was away, while others stand in for it.
const REST: Duration = Duration::from_secs(120);

/// Several engines, as one run asks them: those that it names side by side, those that stand in one after another.
#[derive(Debug)]
pub struct Merged {
    /// Those that the run names come first.
    engines: Vec<Engine>,
    named: usize,
    /// Engines that are not asked, by their places. Locked for map access only.
    off: Mutex<HashMap<usize, Off>>,
}

/// Why an engine is not asked.
#[derive(Clone, Debug)]
struct Off {
    error: Error,
    /// `None`: it would fail in the same way again.
    until: Option<Instant>,
}

/// An engine that has not answered.
#[derive(Clone)]
struct Failed {
    place: usize,
    error: Error,
    /// Not when it is off.
    was_asked: bool,
}

impl Merged {
    /// Makes one engine of `named`; `others` stand in when all of these fail.
    pub fn new(named: Vec<Engine>, others: Vec<Engine>) -> Self {
        let count = named.len();
        Self { engines: named.into_iter().chain(others).collect(), named: count, off: Mutex::default() }
    }

    /// Answers as long as one engine does; `caller` learns of those that fail. An engine's rate limit or outage is
    /// waited for 20 s at most unless the others find nothing, and one that refused its key is not asked again.
    async fn ask(&self, query: &str, limits: &Limits, caller: &dyn CallContext) -> Result<Vec<Hit>, Error> {
        let hurried = WithDeadline::within(TIME_TO_ANSWER, caller);
        let answers = join_all((0..self.named).map(|place| self.ask_one(place, query, limits, &hurried))).await;
        let (mut lists, mut failed) = (Vec::new(), Vec::new());
        for (place, answer) in answers.into_iter().enumerate() {
            match answer {
                Ok(hits) => lists.push((place, hits)),
                Err(missed) => failed.push(missed),
            }
        }
        let is_settled = self.is_settled(&lists, &failed);
        let mut lists: Vec<_> = lists.into_iter().map(|(_, hits)| hits).collect();
        if !is_settled {
            match self.ask_on(query, limits, caller, failed.clone()).await {
                Ok(hits) => {
                    lists.push(hits);
                    return Ok(fused(lists, limits.max_results));
                }
                Err(error) if lists.is_empty() => return Err(error),
                Err(_) => {}
            }
        }
        for Failed { place, error, .. } in failed.iter().filter(|failed| failed.was_asked) {
            caller.lost(self.engines[*place].name(), &error.to_string());
        }
        Ok(fused(lists, limits.max_results))
    }

    /// Returns whether the answers do without those that failed in passing: nothing found says nothing of what these
    /// have, and the user's own documents nothing of the web.
    fn is_settled(&self, lists: &[(usize, Vec<Hit>)], failed: &[Failed]) -> bool {
        let corpus = |place: usize| self.engines[place].corpus();
        let mut found = lists.iter().filter(|(_, hits)| !hits.is_empty()).map(|(place, _)| corpus(*place));
        let finds_anything = found.clone().next().is_some();
        let finds_pages = found.any(|corpus| corpus == Corpus::Web);
        let does_without = |place| finds_pages || finds_anything && corpus(place) == Corpus::Documents;
        let mut away = failed.iter().filter(|failed| failed.error.may_pass());
        !lists.is_empty() && away.all(|failed| does_without(failed.place))
    }

    /// Asks those that stand in, and then once more those whose trouble may pass.
    async fn ask_on(
        &self,
        query: &str,
        limits: &Limits,
        caller: &dyn CallContext,
        mut failed: Vec<Failed>,
    ) -> Result<Vec<Hit>, Error> {
        match self.ask_others(query, limits, caller, &mut failed).await {
            Some(answer) => answer,
            None => self.ask_until_one_answers(query, limits, caller, failed).await,
        }
    }

    /// Asks one engine, unless it is off. One that is known to be away is not waited for while others stand ready.
    async fn ask_one(
        &self,
        place: usize,
        query: &str,
        limits: &Limits,
        caller: &dyn CallContext,
    ) -> Result<Vec<Hit>, Failed> {
        if let Some(error) = self.off(place) {
            return Err(Failed { place, error, was_asked: false });
        }
        let engine = &self.engines[place];
        let answer = match self.named < self.engines.len() && engine.search.is_away() {
            true => Err(Error::Unavailable("it has not answered lately".to_owned())),
            false => engine.search(query, limits, caller).await,
        };
        self.noted(place, answer)
    }

    /// Notes, for the engine there, what its answer says of the next query: one that answers is asked, one that
    /// refuses its key is not.
    fn noted(&self, place: usize, answer: Result<Vec<Hit>, Error>) -> Result<Vec<Hit>, Failed> {
        match &answer {
            Ok(_) => self.switch_on(place),
            Err(error) if error.is_lasting() => self.switch_off(place, error, None),
            Err(_) => {}
        }
        answer.map_err(|error| Failed { place, error, was_asked: true })
    }

    /// Asks those that stand in, one after another, when those that were named have found nothing. `None` when they
    /// change nothing: there are none, none of them answers, or it is the query that is wrong and nobody is away.
    async fn ask_others(
        &self,
        query: &str,
        limits: &Limits,
        caller: &dyn CallContext,
        failed: &mut Vec<Failed>,
    ) -> Option<Result<Vec<Hit>, Error>> {
        let is_of_query = |failed: &Failed| matches!(failed.error, Error::BadQuery(_));
        let is_wrong = failed.iter().any(is_of_query) && !failed.iter().any(|failed| failed.error.may_pass());
        if is_wrong || self.named == self.engines.len() {
            return None;
        }
        for place in self.named..self.engines.len() {
            self.let_rest(failed);
            match self.ask_one(place, query, limits, &WithDeadline::within(TIME_TO_ANSWER, caller)).await {
                Ok(hits) => {
                    self.announce(place, failed, caller);
                    return Some(Ok(hits));
                }
                Err(missed) => failed.push(missed),
            }
        }
        // A better query may be answered, and the model that wrote this one is there to write it.
        failed.iter().find(|failed| is_of_query(failed)).map(|failed| Err(failed.error.clone()))
    }

    /// Asks once more those whose trouble may pass, when none has found anything: waits for them, and takes the first
    /// answer.
    async fn ask_until_one_answers(
        &self,
        query: &str,
        limits: &Limits,
        caller: &dyn CallContext,
        failed: Vec<Failed>,
    ) -> Result<Vec<Hit>, Error> {
        let places = failed.iter().filter(|failed| failed.error.may_pass()).map(|failed| failed.place);
        let ask = |place: usize| async move { (place, self.engines[place].search(query, limits, caller).await) };
        let mut asked: FuturesUnordered<_> = places.map(ask).collect();
        let mut errors: Vec<Error> = Vec::new();
        while let Some((place, answer)) = asked.next().await {
            match self.noted(place, answer) {
                Ok(hits) => {
                    if place >= self.named {
                        self.announce(place, &failed, caller);
                    }
                    return Ok(hits);
                }
                Err(missed) => errors.push(missed.error),
            }
        }
        // One engine's refused key is no reason to end a run whose other engines may answer the next query.
        let lasting = failed.into_iter().map(|failed| failed.error).filter(|error| !error.may_pass());
        let mildest = errors.into_iter().chain(lasting).min_by_key(Error::is_lasting);
        Err(mildest.unwrap_or_else(|| Error::Unavailable("there is no engine to ask".to_owned())))
    }

    /// Tells the caller that the engine of that place answered instead of those that failed.
    fn announce(&self, place: usize, failed: &[Failed], caller: &dyn CallContext) {
        let name = |place: usize| self.engines[place].name();
        // The one that answers may have failed before.
        let others: Vec<_> = failed.iter().filter(|failed| failed.place != place).collect();
        let reason = match &*others {
            [failed] => failed.error.to_string(),
            several => {
                let of_each = several.iter().map(|failed| format!("{}: {}", name(failed.place), failed.error));
                of_each.collect::<Vec<_>>().join("; ")
            }
        };
        let named: Vec<_> =
            failed.iter().map(|failed| failed.place).filter(|place| *place < self.named).map(name).collect();
        caller.replaced(&named.join(","), name(place), &reason);
    }

    /// Leaves those alone for a while that were away.
    fn let_rest(&self, failed: &[Failed]) {
        let until = Instant::now() + REST;
        for failed in failed.iter().filter(|failed| failed.was_asked && failed.error.may_pass()) {
            self.switch_off(failed.place, &failed.error, Some(until));
        }
    }

    fn switch_off(&self, place: usize, error: &Error, until: Option<Instant>) {
        self.off.lock().insert(place, Off { error: error.clone(), until });
    }

    /// Switches an engine on again, since it has answered.
    fn switch_on(&self, place: usize) {
        self.off.lock().remove(&place);
    }

    fn off(&self, place: usize) -> Option<Error> {
        let off = self.off.lock();
        let off = off.get(&place).filter(|off| off.until.is_none_or(|until| Instant::now() < until))?;
        Some(off.error.clone())
    }

    fn named(&self) -> &[Engine] {
        &self.engines[..self.named]
    }
}

/// A caller with less time.
struct WithDeadline<'a> {
    caller: &'a dyn CallContext,
    ends: Instant,
}

impl<'a> WithDeadline<'a> {
    fn within(time: Duration, caller: &'a dyn CallContext) -> Self {
        let ends = Instant::now() + time;
        Self { caller, ends: caller.ends().map_or(ends, |other| other.min(ends)) }
    }
}

impl CallContext for WithDeadline<'_> {
    fn waiting(&self, wait: Wait) {
        self.caller.waiting(wait);
    }

    fn resumed(&self, name: &str) {
        self.caller.resumed(name);
    }

    fn lost(&self, name: &str, reason: &str) {
        self.caller.lost(name, reason);
    }

    fn unparsed(&self, what: &str) {
        self.caller.unparsed(what);
    }

    fn replaced(&self, name: &str, by: &str, reason: &str) {
        self.caller.replaced(name, by, reason);
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
    fn search<'a>(&'a self, query: &'a str, limits: &'a Limits, caller: &'a dyn CallContext) -> Results<'a> {
        Box::pin(self.ask(query, limits, caller))
    }

    fn place(&self) -> String {
        self.engines.iter().map(Engine::place).collect::<Vec<_>>().join(", ")
    }

    fn open(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async { try_join_all(self.named().iter().map(Engine::open)).await.map(drop) })
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

/// Returns the first document that is there. One who cannot say whether it has it does not keep the others from being
/// asked.
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

/// Merges many lists into one: what stands high in several lists stands highest. Of a page that several engines
/// found, under whatever spelling of its address, the hit that brings its text is kept, else the first; a date is
/// kept in any case.
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
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    };

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
        fn search<'a>(&'a self, _: &'a str, _: &'a Limits, _: &'a dyn CallContext) -> Results<'a> {
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
        fn search<'a>(&'a self, _: &'a str, _: &'a Limits, caller: &'a dyn CallContext) -> Results<'a> {
            caller.lost("a text", &caller.run().to_string());
            caller.replaced("one", "another", "it is away");
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
        let opened = Merged::new(vec![failing(), none(), having], Vec::new()).document("dues").await;
        assert_eq!(opened.unwrap().unwrap().title, "Dues");
        assert_eq!(Merged::new(vec![none(), none()], Vec::new()).document("dues").await, Ok(None));
        let error = Merged::new(vec![none(), failing(), none()], Vec::new()).document("dues").await;
        assert_eq!(error, Err(Error::Documents("gone".to_owned())));
    }

    /// Gives these answers in turn, the last one for good, and counts how often it is asked.
    #[derive(Debug)]
    struct Answering(Mutex<Vec<Result<Vec<Hit>, Error>>>, Arc<AtomicUsize>);

    impl Search for Answering {
        fn search<'a>(&'a self, _: &'a str, _: &'a Limits, _: &'a dyn CallContext) -> Results<'a> {
            self.1.fetch_add(1, Relaxed);
            let mut answers = self.0.lock();
            let answer = if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() };
            Box::pin(std::future::ready(answer))
        }

        fn place(&self) -> String {
            String::new()
        }
    }

    fn answering(name: &str, answers: impl IntoIterator<Item = Result<(), Error>>) -> (Engine, Arc<AtomicUsize>) {
        let hits = || vec![hit(name, &format!("https://{name}.test/"), None)];
        let answers = answers.into_iter().map(|answer| answer.map(|()| hits())).collect();
        let asked = Arc::<AtomicUsize>::default();
        let engine = engine(Answering(Mutex::new(answers), Arc::clone(&asked)));
        (Engine { name: name.into(), ..engine }, asked)
    }

    /// What is said of engines that others stand in for.
    #[derive(Default)]
    struct Replaced(Mutex<Vec<String>>);

    impl CallContext for Replaced {
        fn waiting(&self, _: Wait) {}

        fn replaced(&self, name: &str, by: &str, reason: &str) {
            self.0.lock().push(format!("{by} for {name}: {reason}"));
        }
    }

    /// Returns the engines that answer these queries, one after another.
    async fn answers(merged: &Merged, caller: &Replaced, queries: usize) -> Vec<String> {
        let mut engines = Vec::new();
        for _ in 0..queries {
            let answer = merged.ask("pumps", &Limits::default(), caller).await;
            engines.push(answer.map_or_else(|error| error.code().to_owned(), |hits| hits[0].engine.clone()));
        }
        engines
    }

    fn away() -> Error {
        Error::Unavailable("nobody is there".to_owned())
    }

    #[tokio::test(start_paused = true)]
    async fn an_engine_that_was_away_is_asked_again_after_a_while() {
        let ((first, asked), (other, _)) = (answering("first", [Err(away()), Ok(())]), answering("other", [Ok(())]));
        let (merged, caller) = (Merged::new(vec![first], vec![other]), Replaced::default());
        assert_eq!(answers(&merged, &caller, 2).await, ["other", "other"]);
        assert_eq!(asked.load(Relaxed), 1);
        tokio::time::advance(REST).await;
        assert_eq!(answers(&merged, &caller, 1).await, ["first"]);
        let reason = "the search engine failed: nobody is there";
        assert_eq!(caller.0.into_inner(), vec![format!("other for first: {reason}"); 2]);
    }

    /// Returns an engine of the user's own documents that has these hits for every query.
    fn documents(hits: Vec<Hit>) -> Engine {
        static ROW: super::super::Row = super::super::Row { corpus: Corpus::Documents, ..super::super::Row::WEB };
        let answering = Answering(Mutex::new(vec![Ok(hits)]), Arc::default());
        Engine { name: "documents".into(), ..Engine::new(&ROW, Box::new(answering)) }
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_found_hides_no_engine_that_is_away() {
        let nothing = || documents(Vec::new());
        let own = || documents(vec![hit("documents", "dues.txt", None)]);
        let first = |answer| answering("first", [Err(away()), answer]).0;
        let other = |answer| vec![answering("other", [answer]).0];
        let found = async |named: Vec<Engine>, others: Vec<Engine>| {
            let caller = Replaced::default();
            let hits = Merged::new(named, others).ask("pumps", &Limits::default(), &caller).await.unwrap();
            (hits.into_iter().map(|hit| hit.engine).collect::<Vec<_>>().join(" "), caller.0.into_inner())
        };
        assert_eq!(found(vec![nothing(), first(Ok(()))], Vec::new()).await.0, "first");
        assert_eq!(found(vec![first(Err(away())), nothing()], Vec::new()).await.0, "");
        assert_eq!(found(vec![own(), first(Ok(()))], Vec::new()).await.0, "documents first");
        assert_eq!(found(vec![own(), first(Err(away()))], Vec::new()).await.0, "documents");
        let (engines, said) = found(vec![nothing(), first(Err(away()))], other(Ok(()))).await;
        assert_eq!(
            (&*engines, &*said),
            ("other", &["other for first: the search engine failed: nobody is there".to_owned()][..])
        );
        let second = answering("second", [Ok(())]).0;
        assert_eq!(found(vec![second, first(Ok(()))], other(Ok(()))).await.0, "second", "one of its kind has answered");
    }

    /// Is known to be away, and there again for who waits.
    #[derive(Debug)]
    struct Away(Answering);

    impl Search for Away {
        fn search<'a>(&'a self, query: &'a str, limits: &'a Limits, caller: &'a dyn CallContext) -> Results<'a> {
            self.0.search(query, limits, caller)
        }

        fn place(&self) -> String {
            String::new()
        }

        fn is_away(&self) -> bool {
            true
        }
    }

    #[tokio::test]
    async fn one_that_is_known_to_be_away_is_waited_for_only_when_nobody_stands_ready() {
        let asked = Arc::<AtomicUsize>::default();
        let hits = || vec![hit("first", "https://first.test/", None)];
        let first = || engine(Away(Answering(Mutex::new(vec![Ok(hits())]), Arc::clone(&asked))));
        let other = |answer| vec![answering("other", [answer]).0];
        for (others, answered, times) in [
            (other(Ok(())), "other", 0),
            (other(Err(Error::Auth("no".to_owned()))), "first", 1),
            (Vec::new(), "first", 2),
        ] {
            let merged = Merged::new(vec![first()], others);
            assert_eq!(answers(&merged, &Replaced::default(), 1).await, [answered]);
            assert_eq!(asked.load(Relaxed), times);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn they_stand_in_one_after_another() {
        let auth = || Error::Auth("no".to_owned());
        let (first, second) = (answering("first", [Err(auth())]), answering("second", [Err(away())]));
        let (third, fourth) = (answering("third", [Err(auth())]), answering("fourth", [Ok(())]));
        let merged = Merged::new(vec![first.0, second.0], vec![third.0, fourth.0]);
        let caller = Replaced::default();
        assert_eq!(answers(&merged, &caller, 2).await, ["fourth", "fourth"]);
        let asked = [first.1, second.1, third.1, fourth.1].map(|asked| asked.load(Relaxed));
        assert_eq!(asked, [1, 1, 1, 2]);
        let said = caller.0.into_inner().remove(0);
        assert!(said.starts_with("fourth for first,second: first: the search engine refused the API key"), "{said}");
        assert!(said.contains("; second: ") && said.contains("; third: "), "{said}");
    }

    /// Those that rest are asked all the same when nobody else is left.
    #[tokio::test(start_paused = true)]
    async fn when_all_fail_the_first_whose_trouble_may_pass_is_waited_for() {
        let quota = || Error::Quota("all of it".to_owned());
        let (first, _) = answering("first", [Err(quota())]);
        let (other, asked) = answering("other", [Err(away()), Ok(())]);
        let (merged, caller) = (Merged::new(vec![first], vec![other]), Replaced::default());
        assert_eq!(answers(&merged, &caller, 1).await, ["other"]);
        assert_eq!((asked.load(Relaxed), caller.0.into_inner().len()), (2, 1));
        let (merged, caller) = (
            Merged::new(vec![answering("first", [Err(quota())]).0], vec![answering("other", [Err(quota())]).0]),
            Replaced::default(),
        );
        assert_eq!(answers(&merged, &caller, 2).await, ["quota", "quota"]);
    }

    /// Is away when it is asked in passing, and says nothing to who waits.
    #[derive(Debug)]
    struct Silent(AtomicUsize);

    impl Search for Silent {
        fn search<'a>(&'a self, _: &'a str, _: &'a Limits, _: &'a dyn CallContext) -> Results<'a> {
            match self.0.fetch_add(1, Relaxed) {
                0 => Box::pin(std::future::ready(Err(away()))),
                _ => Box::pin(std::future::pending()),
            }
        }

        fn place(&self) -> String {
            String::new()
        }
    }

    /// Waits as long as it may, for nothing.
    #[derive(Debug)]
    struct Hoping;

    impl Search for Hoping {
        fn search<'a>(&'a self, _: &'a str, _: &'a Limits, caller: &'a dyn CallContext) -> Results<'a> {
            Box::pin(async {
                tokio::time::sleep_until(caller.ends().expect("there is an end to it")).await;
                Err(away())
            })
        }

        fn place(&self) -> String {
            String::new()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn each_of_them_is_waited_for_a_while() {
        let merged = Merged::new(vec![engine(Hoping)], vec![engine(Hoping), answering("other", [Ok(())]).0]);
        let begun = Instant::now();
        assert_eq!(answers(&merged, &Replaced::default(), 1).await, ["other"]);
        assert_eq!(begun.elapsed().as_secs(), 2 * TIME_TO_ANSWER.as_secs());
    }

    /// The one that comes back first answers, and is alone in being asked next.
    #[tokio::test(start_paused = true)]
    async fn one_that_stays_away_keeps_nobody_waiting() {
        let silent = Engine { name: "first".into(), ..engine(Silent(AtomicUsize::default())) };
        let (other, asked) = answering("other", [Err(away()), Ok(())]);
        let (merged, caller) = (Merged::new(vec![silent], vec![other]), Replaced::default());
        let answered = tokio::time::timeout(REST, answers(&merged, &caller, 2)).await;
        assert_eq!(answered.unwrap(), ["other", "other"]);
        assert_eq!(asked.load(Relaxed), 3);
        let said = caller.0.into_inner();
        assert_eq!(said[0], "other for first: the search engine failed: nobody is there");
    }

    /// A key that is refused to who waits ends no run as long as another engine may come back.
    #[tokio::test(start_paused = true)]
    async fn the_mildest_of_several_reasons_is_the_error() {
        let (auth, away) = (|| Error::Auth("no".to_owned()), away);
        let (first, _) = answering("first", [Err(away())]);
        let (other, asked) = answering("other", [Err(away()), Err(auth())]);
        let merged = Merged::new(vec![first], vec![other]);
        assert_eq!(answers(&merged, &Replaced::default(), 2).await, ["unavailable"; 2]);
        assert_eq!(asked.load(Relaxed), 2, "one that refuses its key is not asked again");
    }

    /// Answers after a while.
    #[derive(Debug)]
    struct Slow;

    impl Search for Slow {
        fn search<'a>(&'a self, _: &'a str, _: &'a Limits, _: &'a dyn CallContext) -> Results<'a> {
            Box::pin(async {
                tokio::time::sleep(Duration::from_secs(1)).await;
                Ok(vec![hit("first", "https://first.test/", None)])
            })
        }

        fn place(&self) -> String {
            String::new()
        }
    }

    /// Of two queries at once the one that is answered says that the engine is there.
    #[tokio::test(start_paused = true)]
    async fn one_that_answers_does_not_rest() {
        let first = Engine { name: "first".into(), ..engine(Slow) };
        let merged = Merged::new(vec![first], vec![answering("other", [Ok(())]).0]);
        let (caller, limits) = (Replaced::default(), Limits::default());
        let other_query = async { merged.switch_off(0, &away(), Some(Instant::now() + REST)) };
        let (answer, ()) = tokio::join!(merged.ask("pumps", &limits, &caller), other_query);
        assert_eq!(answer.unwrap()[0].engine, "first");
        assert_eq!(answers(&merged, &caller, 1).await, ["first"]);
    }

    /// The model hears of a query that is wrong, and writes a better one.
    #[tokio::test(start_paused = true)]
    async fn a_wrong_query_is_not_taken_elsewhere() {
        let wrong = || Error::BadQuery("too odd".to_owned());
        let ((first, _), (other, asked)) = (answering("first", [Err(wrong())]), answering("other", [Ok(())]));
        let (merged, caller) = (Merged::new(vec![first], vec![other]), Replaced::default());
        assert_eq!((answers(&merged, &caller, 1).await, asked.load(Relaxed)), (vec!["bad_query".to_owned()], 0));
        let ((first, _), (other, _)) = (answering("first", [Err(away())]), answering("other", [Err(wrong())]));
        let (merged, caller) = (Merged::new(vec![first], vec![other]), Replaced::default());
        assert_eq!(answers(&merged, &caller, 1).await, ["bad_query"], "it need not wait for the first");
        let named = || vec![answering("first", [Err(away())]).0, answering("second", [Err(wrong())]).0];
        let merged = Merged::new(named(), vec![answering("other", [Ok(())]).0]);
        assert_eq!(answers(&merged, &caller, 1).await, ["other"], "the first may have taken it");
        let merged = Merged::new(named(), vec![answering("other", [Err(away())]).0]);
        assert_eq!(answers(&merged, &caller, 1).await, ["bad_query"]);
    }

    #[tokio::test]
    async fn a_caller_hears_all_that_one_of_several_engines_says() {
        #[derive(Default)]
        struct Hearing(Mutex<Vec<(String, String)>>);

        impl CallContext for Hearing {
            fn waiting(&self, _: Wait) {}

            fn lost(&self, name: &str, reason: &str) {
                self.0.lock().push((name.to_owned(), reason.to_owned()));
            }

            fn replaced(&self, name: &str, by: &str, _: &str) {
                self.0.lock().push((name.to_owned(), by.to_owned()));
            }

            fn run(&self) -> u128 {
                7
            }
        }

        let (hearing, merged) = (Hearing::default(), Merged::new(vec![engine(Having(None))], Vec::new()));
        merged.ask("pumps", &Limits::default(), &hearing).await.unwrap();
        let heard = [("a text", "7"), ("one", "another")].map(|(name, said)| (name.to_owned(), said.to_owned()));
        assert_eq!(hearing.0.into_inner(), heard);
    }

    #[tokio::test]
    async fn a_refused_key_is_the_error_only_if_every_key_is_refused() {
        let (auth, query) = (Error::Auth("no".to_owned()), Error::BadQuery("too odd".to_owned()));
        for (errors, expected) in [([&auth, &query], &query), ([&query, &auth], &query), ([&auth, &auth], &auth)] {
            let merged = Merged::new(errors.map(|error| engine(Failing(error.clone()))).into(), Vec::new());
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
