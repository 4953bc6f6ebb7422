//! What a run may spend: model calls, searches, pages, researchers, tokens, money and time, refused before they are
//! made.
//!
//! It ends softly, as time does: research stops before everything is used up, so that the notes and the report can
//! still be written. A refusal is a failed step of the journal, so a replay goes the same way; what was spent in
//! earlier lives is read off their steps.

use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::Role;
use crate::{
    domain::{Cost, Failure, FailureCode, RunOptions, Usage},
    journal::{Step, StepKind},
    llm::ANSWER_TOKENS,
};

/// How a refusal begins, by which it is known in the journal.
const USED_UP: &str = "the run has spent what it may";

/// The options that bound what a run spends.
const OPTIONS: [&str; 7] =
    ["max_model_calls", "max_searches", MAX_PAGES, "max_researchers", "max_tokens", "max_cost_usd", MAX_TIME];

const MAX_PAGES: &str = "max_pages";
const MAX_TIME: &str = "max_run_seconds";

/// What is kept of the model calls for notes and report: a quarter, and at most this.
const MOST_KEPT_CALLS: u64 = 100;
/// The most tokens that are kept for notes and report.
const MOST_KEPT_TOKENS: u64 = 4_000_000;

/// Tokens of results that a model is taken to read for one search.
pub const SEARCH_TOKENS: u64 = 10_000;

/// The most tokens that the calls of one step can have used: each reads and writes, and is repeated twice at most.
const MOST_TOKENS_OF_A_STEP: u64 = 6 * Usage::MOST_PLAUSIBLE;

/// The percentage of a limit from which on no new research starts.
pub const SOFT_PERCENT: u32 = 80;

/// How much of a run's limits was used at a moment: of the one of which the most was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Hundredths.
    pub used: u32,
    /// The option.
    pub of: String,
}

impl Standing {
    /// Returns whether so much is used that no new research starts.
    pub fn is_soft_limit(&self) -> bool {
        self.used >= SOFT_PERCENT
    }

    /// Returns why no new research starts.
    pub fn failure(&self) -> Failure {
        let message = format!("{} % of {} are used, so no new research starts", self.used, self.of);
        let code = if self.is_time() { FailureCode::Timeout } else { FailureCode::SpendingLimit };
        Failure::new(code, message)
    }

    /// Returns whether it is the run's time of which the most was used.
    pub fn is_time(&self) -> bool {
        self.of == MAX_TIME
    }
}

/// What a model call is for: the later in a run, the more it may use of what there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A turn of an agent, which searches.
    Turn,
    /// A page's summary.
    Summary,
    Notes,
    /// The report, and what comes before the research.
    Whole,
}

impl Purpose {
    const COUNT: usize = 4;

    /// Returns the purpose of a role's calls. Research has a deadline, so that the report can be written; so the same
    /// calls leave something over here.
    pub fn of(role: Role, has_deadline: bool) -> Self {
        match role {
            Role::Research if has_deadline => Self::Turn,
            Role::Summarization => Self::Summary,
            Role::Compression => Self::Notes,
            Role::Research | Role::FinalReport => Self::Whole,
        }
    }

    /// Returns how much of `limit` calls of this purpose leave to others.
    fn leaves(self, limit: u64, most: u64) -> u64 {
        let kept = (limit / 4).clamp(2, most);
        match self {
            Self::Turn | Self::Summary => kept,
            Self::Notes => (kept / 4).max(1),
            Self::Whole => 0,
        }
    }
}

/// What a run has spent, in this life and earlier ones.
#[derive(Debug)]
pub struct Spending {
    max_model_calls: u64,
    max_searches: u64,
    max_pages: u64,
    max_researchers: u64,
    max_tokens: u64,
    max_cost: Option<Cost>,
    max_time: Duration,
    /// When the run's time is over.
    ends_at: Option<Instant>,
    /// Locked for counting only.
    spent: Mutex<Spent>,
}

#[derive(Debug, Default)]
struct Spent {
    model_calls: u64,
    searches: u64,
    pages: u64,
    /// That are being read.
    reserved_pages: u64,
    researchers: u64,
    tokens: u64,
    /// Estimated, of calls that are being made.
    reserved: u64,
    /// Billionths of a dollar, as the next.
    cost: u64,
    reserved_cost: u64,
    /// The longest answer to a call of each purpose, in tokens.
    longest: [u64; Purpose::COUNT],
    /// The option that was used up first.
    limited_by: Option<&'static str>,
}

/// Why something is not done, and whether that is new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub message: String,
    pub is_first: bool,
}

impl Refusal {
    pub fn failure(&self) -> Failure {
        Failure::new(FailureCode::SpendingLimit, self.message.clone())
    }
}

/// Room for a call that is being made; given back when dropped.
#[derive(Debug)]
pub struct Reserved<'a> {
    spending: &'a Spending,
    purpose: Purpose,
    tokens: u64,
    cost: u64,
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        let mut spent = self.spending.spent.lock();
        spent.reserved -= self.tokens;
        spent.reserved_cost -= self.cost;
    }
}

impl Reserved<'_> {
    /// Notes the length of an answer: later calls of the purpose are taken to be answered at such length, too.
    pub fn answered(&self, usage: &Usage) {
        let mut spent = self.spending.spent.lock();
        let longest = &mut spent.longest[self.purpose as usize];
        *longest = plausible(usage.output_tokens).max(*longest);
    }
}

/// Pages that may be read; those that were not are given back when dropped.
#[derive(Debug)]
pub struct Pages<'a> {
    spending: &'a Spending,
    granted: u64,
    refusal: Option<Refusal>,
}

impl Drop for Pages<'_> {
    fn drop(&mut self) {
        self.spending.spent.lock().reserved_pages -= self.granted;
    }
}

impl Pages<'_> {
    /// Returns how many are granted.
    pub fn granted(&self) -> usize {
        usize::try_from(self.granted).unwrap_or(usize::MAX)
    }

    /// Returns why these are not as many as were asked for.
    pub fn refusal(&self) -> Option<&Refusal> {
        self.refusal.as_ref()
    }

    /// Counts those that were read.
    pub fn read(&self, pages: usize) {
        self.spending.spent.lock().pages += pages as u64;
    }
}

impl Spending {
    /// Adds up `steps`, which are those of earlier lives.
    pub fn new(options: &RunOptions, steps: &[Step]) -> Self {
        let mut spent = Spent::default();
        for step in steps {
            spent.count(step);
        }
        Self {
            max_model_calls: options.max_model_calls.into(),
            max_searches: options.max_searches.into(),
            max_pages: options.max_pages.into(),
            max_researchers: options.max_researchers.into(),
            max_tokens: options.max_tokens.into(),
            max_cost: options.max_cost_usd,
            max_time: Duration::from_secs(options.max_run_seconds.into()),
            ends_at: None,
            spent: Mutex::new(spent),
        }
    }

    /// Sets when the run's time is over.
    pub fn ending_at(self, ends_at: Instant) -> Self {
        Self { ends_at: Some(ends_at), ..self }
    }

    /// Returns how much of the limits is used.
    pub fn standing(&self) -> Standing {
        self.standing_of(&self.spent.lock())
    }

    /// Returns the standing as [`Self::standing`] does, and counts the researcher that begins with it unless no new
    /// research starts. So `max_researchers` is never passed, however many begin side by side.
    pub fn begin_researcher(&self) -> Standing {
        let mut spent = self.spent.lock();
        let standing = self.standing_of(&spent);
        spent.researchers += u64::from(!standing.is_soft_limit());
        standing
    }

    fn standing_of(&self, spent: &Spent) -> Standing {
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let left = self.ends_at.map_or(self.max_time, |end| end.saturating_duration_since(Instant::now()));
        let limits = [
            (MAX_TIME, milliseconds(self.max_time.saturating_sub(left)), milliseconds(self.max_time)),
            ("max_researchers", spent.researchers, self.max_researchers),
            (MAX_PAGES, spent.pages, self.max_pages),
            ("max_model_calls", spent.model_calls, self.max_model_calls),
            ("max_searches", spent.searches, self.max_searches),
            ("max_tokens", spent.tokens, self.max_tokens),
            ("max_cost_usd", spent.cost, self.max_cost.map_or(0, |most| most.0)),
        ];
        let percent = |used: u64, most: u64| u32::try_from(used.saturating_mul(100).checked_div(most).unwrap_or(0));
        let standing = limits.map(|(of, used, most)| (percent(used, most).unwrap_or(u32::MAX), of));
        let (used, of) = standing.into_iter().max_by_key(|(used, _)| *used).unwrap_or_default();
        Standing { used, of: of.to_owned() }
    }

    /// Notes that research was refused for what was used by then.
    pub fn note_soft_limit(&self, standing: &Standing) {
        let option = OPTIONS.into_iter().find(|option| *option == standing.of);
        let mut spent = self.spent.lock();
        spent.limited_by = spent.limited_by.or(option);
    }

    /// Notes that research was ended for want of time.
    pub fn note_time_over(&self) {
        self.spent.lock().limited_by.get_or_insert(MAX_TIME);
    }

    /// Returns the option that ended the research, if one did.
    pub fn limited_by(&self) -> Option<&'static str> {
        self.spent.lock().limited_by
    }

    /// Counts a model call that is to be made next, with a prompt of about `tokens` tokens and an answer of
    /// `max_tokens` at most. `price` says what tokens cost; `None`: nobody knows. A call that leaves something to
    /// others takes the answer that is expected of it as well; what they leave it to is measured by its prompt.
    ///
    /// # Errors
    /// The call must not be made.
    pub fn begin_call(
        &self,
        purpose: Purpose,
        (tokens, max_tokens): (u32, u32),
        price: impl FnOnce(&Usage) -> Option<Cost>,
    ) -> Result<Reserved<'_>, Refusal> {
        let tokens = u64::from(tokens);
        let output_tokens = self.spent.lock().expected_answer(purpose).min(max_tokens.into());
        let cost = match self.max_cost {
            Some(_) => price(&Usage { input_tokens: tokens, output_tokens, ..Usage::default() }),
            None => Some(Cost::default()),
        };
        let mut spent = self.spent.lock();
        if purpose == Purpose::Turn && spent.searches >= self.max_searches {
            return Err(spent.refuse("max_searches", self.max_searches));
        }
        let calls = self.max_model_calls.saturating_sub(purpose.leaves(self.max_model_calls, MOST_KEPT_CALLS));
        if spent.model_calls >= calls {
            return Err(spent.refuse("max_model_calls", self.max_model_calls));
        }
        let most = self.max_tokens.saturating_sub(purpose.leaves(self.max_tokens, MOST_KEPT_TOKENS));
        let tokens = if purpose == Purpose::Whole { tokens } else { tokens + output_tokens };
        if spent.tokens + spent.reserved + tokens > most {
            return Err(spent.refuse("max_tokens", self.max_tokens));
        }
        let cost = spent.afford(self.max_cost, cost, purpose)?;
        spent.model_calls += 1;
        spent.reserved += tokens;
        spent.reserved_cost += cost;
        Ok(Reserved { spending: self, purpose, tokens, cost })
    }

    /// Counts what a call took. Its further attempts are no calls: hardly any that failed has a price (those that have
    /// are counted here as well), and a run outlives an outage.
    pub fn end_call(&self, usage: &Usage) {
        self.spent.lock().add(usage);
    }

    /// Counts a search that is to be made next. `price` is there when a model makes it, and says what that costs.
    ///
    /// # Errors
    /// It must not be made.
    pub fn begin_search(&self, price: Option<impl FnOnce(&Usage) -> Option<Cost>>) -> Result<Reserved<'_>, Refusal> {
        let by_model = price.is_some();
        let expected =
            Usage { input_tokens: SEARCH_TOKENS, output_tokens: ANSWER_TOKENS, searches: 1, ..Usage::default() };
        let cost = match (self.max_cost, price) {
            (Some(_), Some(price)) => price(&expected),
            _ => Some(Cost::default()),
        };
        let tokens = if by_model { expected.total() } else { 0 };
        let purpose = Purpose::Turn;
        let mut spent = self.spent.lock();
        if spent.searches >= self.max_searches {
            return Err(spent.refuse("max_searches", self.max_searches));
        }
        let most = self.max_tokens.saturating_sub(purpose.leaves(self.max_tokens, MOST_KEPT_TOKENS));
        if by_model && spent.tokens + spent.reserved + tokens > most {
            return Err(spent.refuse("max_tokens", self.max_tokens));
        }
        let cost = if by_model { spent.afford(self.max_cost, cost, purpose)? } else { 0 };
        spent.searches += 1;
        spent.reserved += tokens;
        spent.reserved_cost += cost;
        Ok(Reserved { spending: self, purpose, tokens, cost })
    }

    /// Counts what a search by a model took: its tokens, and the searches that it made beyond the one that was counted.
    pub fn end_search(&self, usage: &Usage) {
        self.spent.lock().searches += usage.searches.saturating_sub(1);
        self.end_call(usage);
    }

    /// Lets as many pages be read of those that are wanted next as may be read.
    pub fn begin_pages(&self, wanted: usize) -> Pages<'_> {
        let wanted = wanted as u64;
        let mut spent = self.spent.lock();
        let granted = wanted.min(self.max_pages.saturating_sub(spent.pages + spent.reserved_pages));
        spent.reserved_pages += granted;
        let refusal = (granted < wanted).then(|| spent.refuse(MAX_PAGES, self.max_pages));
        Pages { spending: self, granted, refusal }
    }
}

impl Spent {
    /// Returns how long the answer to a call of a purpose is taken to be, in tokens: as the longest one so far. Before
    /// the first, it is as long as any to another purpose, since a model that thinks long does so in all calls. Reports
    /// are another matter.
    fn expected_answer(&self, purpose: Purpose) -> u64 {
        let of = |purpose: Purpose| self.longest[purpose as usize];
        let others = [Purpose::Turn, Purpose::Summary, Purpose::Notes];
        let longest = match of(purpose) {
            0 if others.contains(&purpose) => others.map(of).into_iter().max().unwrap_or_default(),
            longest => longest,
        };
        longest.max(ANSWER_TOKENS)
    }

    /// Returns the estimated cost of a call, in billionths of a dollar, if there is so much money left.
    fn afford(&mut self, max_cost: Option<Cost>, cost: Option<Cost>, purpose: Purpose) -> Result<u64, Refusal> {
        let Some(Cost(limit)) = max_cost else { return Ok(0) };
        let shown = Cost(limit).dollars();
        let Some(Cost(cost)) = cost else {
            return Err(self.refuse("max_cost_usd", format!("{shown}, and the price of the model is not known")));
        };
        let most = limit.saturating_sub(purpose.leaves(limit, u64::MAX));
        if self.cost.saturating_add(self.reserved_cost).saturating_add(cost) > most {
            return Err(self.refuse("max_cost_usd", shown));
        }
        Ok(cost)
    }

    fn refuse(&mut self, option: &'static str, limit: impl std::fmt::Display) -> Refusal {
        let is_first = self.limited_by.is_none();
        self.limited_by.get_or_insert(option);
        Refusal { message: format!("{USED_UP}: {option} is {limit}"), is_first }
    }

    fn count(&mut self, step: &Step) {
        // The run that this one retries has paid for it.
        if step.inherited {
            return;
        }
        if let Some(option) = refused_option(step) {
            self.limited_by.get_or_insert(option);
            // Refused was the call's repetition with a higher output limit; what was made before has its price.
            if step.call.is_none() {
                return;
            }
        }
        match (step.kind, &step.call) {
            (StepKind::Search, call) => {
                let searched: Searched = serde_json::from_str(&step.value).unwrap_or_default();
                self.searches += if call.is_some() { searched.searches.unwrap_or_default().max(1) } else { 1 };
                self.pages += searched.pages;
                if searched.pages_left_out {
                    self.limited_by.get_or_insert(MAX_PAGES);
                }
                self.add(&call.as_ref().map(|call| call.usage).unwrap_or_default());
            }
            (StepKind::Tool, _) => self.pages += pages_of(step),
            (StepKind::Mark, _) => self.researchers += u64::from(begins_researcher(step)),
            (StepKind::Model, call) => {
                self.model_calls += 1;
                self.add(&call.as_ref().map(|call| call.usage).unwrap_or_default());
            }
            _ => {}
        }
    }

    fn add(&mut self, usage: &Usage) {
        self.tokens += plausible(usage.total());
        self.cost += usage.cost.map_or(0, |cost| cost.0);
    }
}

/// What the step of a search says about what it took.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Searched {
    /// By a model.
    searches: Option<u64>,
    pages: u64,
    pages_left_out: bool,
}

/// Returns the pages that a call of a tool has read.
fn pages_of(step: &Step) -> u64 {
    #[derive(Deserialize)]
    struct Called {
        #[serde(rename = "Ok", default)]
        output: Output,
    }
    #[derive(Default, Deserialize)]
    struct Output {
        #[serde(default)]
        pages: u64,
    }
    serde_json::from_str::<Called>(&step.value).map_or(0, |called| called.output.pages)
}

/// Returns whether it is the mark of a researcher that was let begin.
fn begins_researcher(step: &Step) -> bool {
    let standing = || serde_json::from_str::<Standing>(&step.value).ok();
    step.key.ends_with("/started") && standing().is_some_and(|standing| !standing.is_soft_limit())
}

/// Returns whether it is the message of a search or a page that was refused. What engines say has our words before it.
pub fn is_refusal(message: &str) -> bool {
    message.starts_with(USED_UP)
}

/// Returns the option that a step was refused for; `None` for one that was made. Only an error can be a refusal: an
/// answer or a page may say the same words.
fn refused_option(step: &Step) -> Option<&'static str> {
    let error = step.value.strip_prefix("{\"Err\":")?;
    let of_model = error.strip_prefix("{\"code\":\"spending_limit\",\"message\":");
    let of_tool = || error.strip_prefix("{\"message\":");
    let option =
        of_model.or_else(of_tool).unwrap_or(error).strip_prefix('"')?.strip_prefix(USED_UP)?.strip_prefix(": ")?;
    OPTIONS.into_iter().find(|name| option.starts_with(name))
}

/// Returns the tokens of a step; 0 when no model can have used so many. Only steps of releases that did not estimate
/// say so.
fn plausible(tokens: u64) -> u64 {
    if tokens <= MOST_TOKENS_OF_A_STEP { tokens } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{domain::Timestamp, journal::CallRecord};

    fn spending(name: &str, limit: u32) -> Spending {
        let mut options = RunOptions::default();
        options.set(name, limit.into()).unwrap();
        Spending::new(&options, &[])
    }

    const NO_MODEL: Option<fn(&Usage) -> Option<Cost>> = None;

    fn free(_: &Usage) -> Option<Cost> {
        Some(Cost::default())
    }

    fn calls(spending: &Spending, purpose: Purpose) -> u32 {
        let mut made = 0;
        while spending.begin_call(purpose, (10, u32::MAX), free).is_ok() {
            made += 1;
        }
        made
    }

    #[test]
    fn research_leaves_calls_for_notes_and_these_for_the_report() {
        let spending = spending("max_model_calls", 100);
        assert_eq!(calls(&spending, Purpose::Turn), 75);
        assert_eq!(spending.limited_by(), Some("max_model_calls"));
        assert_eq!(calls(&spending, Purpose::Summary), 0);
        assert_eq!(calls(&spending, Purpose::Notes), 19);
        assert_eq!(calls(&spending, Purpose::Whole), 6);
        let refusal = spending.begin_call(Purpose::Whole, (10, u32::MAX), free).unwrap_err();
        assert_eq!(refusal.message, "the run has spent what it may: max_model_calls is 100");
        assert!(!refusal.is_first);
    }

    fn used(input_tokens: u64) -> Usage {
        Usage { input_tokens, ..Usage::default() }
    }

    fn step(kind: StepKind, value: &str, tokens: Option<u64>) -> Step {
        let usage = |tokens| Usage { input_tokens: tokens, ..Usage::default() };
        let call =
            |tokens| CallRecord { model: "m".into(), role: "research".into(), attempts: 1, usage: usage(tokens) };
        Step {
            key: "k".to_owned(),
            kind,
            request_hash: String::new(),
            input_hash: String::new(),
            prompts: String::new(),
            inherited: false,
            value: value.to_owned(),
            started_at: Timestamp(0),
            finished_at: Timestamp(0),
            call: tokens.map(call),
        }
    }

    #[test]
    fn what_earlier_lives_spent_is_read_off_their_steps() {
        let check = |step: &Step, expected: (u64, u64, u64, Option<&str>)| {
            let spending = Spending::new(&RunOptions::default(), std::slice::from_ref(step));
            let spent = spending.spent.lock();
            let counted = (spent.model_calls, spent.searches, spent.tokens, spent.limited_by);
            assert_eq!(counted, expected, "{:?} {}", step.kind, step.value);
        };
        check(&step(StepKind::Model, r#"{"Ok":{"text":"yes"}}"#, Some(7)), (1, 0, 7, None));
        check(&step(StepKind::Model, r#"{"Err":{"code":"timeout","message":"late"}}"#, None), (1, 0, 0, None));
        check(&step(StepKind::Search, r#"{"Ok":[]}"#, None), (0, 1, 0, None));
        check(&step(StepKind::Search, r#"{"Err":"status 500"}"#, None), (0, 1, 0, None));
        check(&step(StepKind::Search, r#"{"Ok":[],"searches":3}"#, Some(7)), (0, 3, 7, None));
        check(&step(StepKind::Search, r#"{"Err":"status 500"}"#, Some(7)), (0, 1, 7, None));
        check(&step(StepKind::Mark, "null", None), (0, 0, 0, None));
        let said = r#"{"Err":{"message":"the run has spent what it may: max_pages is 2"}}"#;
        check(&step(StepKind::Tool, said, None), (0, 0, 0, Some("max_pages")));
        check(
            &step(StepKind::Search, r#"{"Ok":[],"pages":2,"pages_left_out":true}"#, None),
            (0, 1, 0, Some("max_pages")),
        );
        let inherited = Step { inherited: true, ..step(StepKind::Model, r#"{"Ok":{}}"#, Some(7)) };
        check(&inherited, (0, 0, 0, None));
        // Refused, so not made.
        let refused = "the run has spent what it may: max_searches is 3";
        check(&step(StepKind::Search, &format!("{{\"Err\":\"{refused}\"}}"), None), (0, 0, 0, Some("max_searches")));
        let failure = serde_json::to_string(&Err::<(), _>(Failure::new(FailureCode::SpendingLimit, refused))).unwrap();
        check(&step(StepKind::Model, &failure, None), (0, 0, 0, Some("max_searches")));
        check(&step(StepKind::Model, &failure, Some(7)), (1, 0, 7, Some("max_searches")));
        // Pages and engines that say the same.
        check(&step(StepKind::Search, &format!("{{\"Ok\":[{{\"snippet\":\"{refused}\"}}]}}"), None), (0, 1, 0, None));
        check(&step(StepKind::Search, &format!("{{\"Err\":\"status 500: {refused}\"}}"), None), (0, 1, 0, None));
        check(&step(StepKind::Model, &format!("{{\"Ok\":{{\"text\":\"{refused}\"}}}}"), None), (1, 0, 0, None));
    }

    #[test]
    fn pages_and_researchers_of_earlier_lives_are_read_off_their_steps() {
        let mark = |key: &str, standing: &str| Step { key: key.to_owned(), ..step(StepKind::Mark, standing, None) };
        let steps = [
            step(StepKind::Search, r#"{"Ok":[],"pages":3}"#, None),
            step(StepKind::Search, r#"{"Ok":[]}"#, None),
            step(StepKind::Tool, r#"{"Ok":{"text":[],"pages":1}}"#, None),
            step(StepKind::Tool, r#"{"Err":{"message":"no such page"}}"#, None),
            mark("research/started", "null"),
            mark("lead/1/r1/started", r#"{"used":79,"of":"max_searches"}"#),
            mark("lead/1/standing", r#"{"used":79,"of":"max_searches"}"#),
            mark("lead/2/r2/started", r#"{"used":80,"of":"max_searches"}"#),
        ];
        let spending = Spending::new(&RunOptions::default(), &steps);
        let spent = spending.spent.lock();
        assert_eq!((spent.pages, spent.researchers, spent.limited_by), (4, 1, None));
    }

    #[test]
    fn pages_are_granted_until_there_are_no_more() {
        let spending = spending("max_pages", 5);
        let first = spending.begin_pages(4);
        assert_eq!((first.granted(), first.refusal()), (4, None));
        let second = spending.begin_pages(2);
        assert_eq!((second.granted(), second.refusal().map(|refusal| refusal.is_first)), (1, Some(true)));
        first.read(2);
        drop((first, second));
        let third = spending.begin_pages(4);
        assert_eq!(third.granted(), 3, "what was not read is there again");
        let said = &third.refusal().unwrap().message;
        assert_eq!(said, "the run has spent what it may: max_pages is 5");
        third.read(3);
        drop(third);
        assert_eq!((spending.begin_pages(1).granted(), spending.limited_by()), (0, Some("max_pages")));
        assert_eq!((spending.standing().used, spending.standing().of), (100, "max_pages".to_owned()));
    }

    #[test]
    fn researchers_begin_up_to_the_soft_limit_of_their_number() {
        let check = |most: u32, expected: usize| {
            let spending = spending("max_researchers", most);
            let began = (0..20).filter(|_| !spending.begin_researcher().is_soft_limit()).count();
            assert_eq!(began, expected, "of {most}");
        };
        check(1, 1);
        check(4, 4);
        check(10, 8);
    }

    #[tokio::test(start_paused = true)]
    async fn time_counts_like_everything_else_that_is_used() {
        let end = Instant::now() + Duration::from_secs(100);
        let spending = spending("max_run_seconds", 1_000).ending_at(end);
        let standing = spending.standing();
        assert_eq!((standing.used, standing.is_soft_limit(), standing.is_time()), (90, true, true));
        assert_eq!(standing.failure().code, FailureCode::Timeout);
        assert_eq!(standing.failure().message, "90 % of max_run_seconds are used, so no new research starts");
        spending.note_soft_limit(&standing);
        assert_eq!(spending.limited_by(), Some("max_run_seconds"));
        tokio::time::advance(Duration::from_secs(1_000)).await;
        assert_eq!(spending.standing().used, 100, "all of it, and never more");
    }

    #[test]
    fn tokens_count_when_they_are_used_and_before() {
        let spending = spending("max_tokens", 100_000);
        let first = spending.begin_call(Purpose::Turn, (50_000, u32::MAX), free).unwrap();
        assert!(
            spending.begin_call(Purpose::Turn, (50_000, u32::MAX), free).unwrap_err().is_first,
            "the first is still being made"
        );
        spending.end_call(&used(10_000));
        drop(first);
        drop(spending.begin_call(Purpose::Turn, (50_000, u32::MAX), free).unwrap());
        spending.end_call(&used(90_000));
        assert!(spending.begin_call(Purpose::Whole, (1, u32::MAX), free).is_err());
    }

    #[test]
    fn the_answer_that_is_expected_counts_too_and_that_to_the_report_does_not() {
        let spending = spending("max_tokens", 100_000);
        let first = spending.begin_call(Purpose::Turn, (1_000, u32::MAX), free).unwrap();
        let long = Usage { input_tokens: 1_000, output_tokens: 20_000, ..Usage::default() };
        first.answered(&long);
        spending.end_call(&long);
        drop(first);
        let side_by_side: Vec<_> =
            (0..8).map_while(|_| spending.begin_call(Purpose::Turn, (1_000, u32::MAX), free).ok()).collect();
        assert_eq!(side_by_side.len(), 2, "63,000 of the 75,000 that turns may use");
        let notes = spending.begin_call(Purpose::Notes, (1_000, u32::MAX), free).unwrap();
        assert!(
            spending.begin_call(Purpose::Notes, (1_000, u32::MAX), free).is_err(),
            "notes are expected to be as long"
        );
        assert!(spending.begin_call(Purpose::Whole, (15_000, u32::MAX), free).is_ok(), "its prompt fits");
        drop((side_by_side, notes));
    }

    #[test]
    fn money_counts_before_it_is_spent_and_leaves_enough_for_the_report() {
        let mut options = RunOptions::default();
        options.set("max_cost_usd", 1.0.into()).unwrap();
        let spending = Spending::new(&options, &[]);
        let dollars = |dollars: f64| move |_: &Usage| Cost::reported(dollars);
        let first = spending.begin_call(Purpose::Turn, (10, u32::MAX), dollars(0.5)).unwrap();
        assert!(
            spending.begin_call(Purpose::Turn, (10, u32::MAX), dollars(0.3)).unwrap_err().is_first,
            "a quarter is kept"
        );
        spending.end_call(&Usage { cost: Cost::reported(0.7), ..Usage::default() });
        drop(first);
        assert_eq!(spending.limited_by(), Some("max_cost_usd"));
        drop(spending.begin_call(Purpose::Whole, (10, u32::MAX), dollars(0.3)).unwrap());
        let refusal = spending.begin_call(Purpose::Whole, (10, u32::MAX), dollars(0.31)).unwrap_err();
        assert_eq!(refusal.message, "the run has spent what it may: max_cost_usd is 1");
        let unknown = spending.begin_call(Purpose::Whole, (10, u32::MAX), |_| None).unwrap_err();
        assert!(unknown.message.ends_with("the price of the model is not known"), "{}", unknown.message);
        assert!(Spending::new(&RunOptions::default(), &[]).begin_call(Purpose::Turn, (10, u32::MAX), |_| None).is_ok());
    }

    /// A model that searches is one more that spends: its tokens and its money count, and all of its searches.
    #[test]
    fn a_search_by_a_model_is_paid_for_like_a_call() {
        let mut options = RunOptions::default();
        options.set("max_cost_usd", 1.0.into()).unwrap();
        options.set("max_searches", 5.into()).unwrap();
        let spending = Spending::new(&options, &[]);
        let price = |dollars: f64| Some(move |_: &Usage| Cost::reported(dollars));
        let first = spending.begin_search(price(0.1)).unwrap();
        spending.end_search(&Usage { searches: 4, cost: Cost::reported(0.2), ..used(5_000) });
        drop(first);
        {
            let spent = spending.spent.lock();
            assert_eq!((spent.searches, spent.tokens, spent.reserved, spent.reserved_cost), (4, 5_000, 0, 0));
        }
        let refusal = spending.begin_search(price(0.6)).unwrap_err();
        assert!(refusal.message.contains("max_cost_usd"), "{}", refusal.message);
        let unknown = spending.begin_search(Some(|_: &Usage| None)).unwrap_err();
        assert!(unknown.message.ends_with("the price of the model is not known"), "{}", unknown.message);
        drop(spending.begin_search(price(0.1)).unwrap());
        assert!(spending.begin_search(price(0.1)).unwrap_err().message.contains("max_searches"));
    }

    #[test]
    fn a_model_that_says_much_is_taken_to_go_on_like_that() {
        let mut options = RunOptions::default();
        options.set("max_cost_usd", 1.0.into()).unwrap();
        let spending = Spending::new(&options, &[]);
        let of_output = |usage: &Usage| Cost::reported(usage.output_tokens as f64 / 1e5);
        let long = Usage { output_tokens: 50_000, cost: Cost::reported(0.5), ..Usage::default() };
        let first = spending.begin_call(Purpose::Turn, (10, u32::MAX), of_output).unwrap();
        first.answered(&long);
        spending.end_call(&long);
        drop(first);
        assert!(
            spending.begin_call(Purpose::Turn, (10, u32::MAX), of_output).is_err(),
            "another such answer is not paid for"
        );
        assert!(spending.begin_call(Purpose::Whole, (10, u32::MAX), of_output).is_ok(), "reports are another matter");
    }

    #[test]
    fn the_limit_that_is_used_most_counts() {
        let spending = spending("max_searches", 10);
        assert_eq!(spending.standing().used, 0);
        for _ in 0..8 {
            drop(spending.begin_search(NO_MODEL).unwrap());
        }
        let standing = spending.standing();
        assert_eq!((standing.used, &*standing.of, standing.is_soft_limit()), (80, "max_searches", true));
        assert_eq!(standing.failure().message, "80 % of max_searches are used, so no new research starts");
        spending.note_soft_limit(&standing);
        assert_eq!(spending.limited_by(), Some("max_searches"));
    }

    #[test]
    fn without_searches_left_nobody_researches_and_what_was_found_is_summed_up() {
        let spending = spending("max_searches", 1);
        drop(spending.begin_search(NO_MODEL).unwrap());
        assert!(spending.begin_search(NO_MODEL).is_err());
        assert!(spending.begin_call(Purpose::Turn, (1, u32::MAX), free).is_err());
        assert!(
            spending.begin_call(Purpose::Summary, (1, u32::MAX), free).is_ok()
                && spending.begin_call(Purpose::Notes, (1, u32::MAX), free).is_ok()
        );
    }
}
