//! The file of results: a header, then a scored answer per line, appended as they come, so that an evaluation that was
//! interrupted goes on where it stopped.

use std::{
    collections::HashSet,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _, Write},
    path::Path,
};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Scored, Spent};

/// What was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the program.
    pub fathom: String,
    /// Models of the roles, without repetition.
    pub models: Vec<String>,
    /// SHA-256 of the questions.
    pub questions: String,
    pub documents: Option<String>,
    /// SHA-256 of the options; files of earlier releases have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<String>,
    /// The model that judges; absent while none was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<String>,
}

impl Header {
    /// Takes in what an evaluation goes on with: the judge may come later, and so do options that the file lacks.
    ///
    /// # Errors
    /// When something else was measured, or another model judges.
    pub fn go_on(&mut self, with: &Self) -> Result<(), String> {
        let judge = self.judge.clone().or_else(|| with.judge.clone());
        if with.judge.is_some() && with.judge != judge {
            return Err(format!("reports judged by {}", judge.unwrap_or_default()));
        }
        let options = self.options.clone().or_else(|| with.options.clone());
        let known = Self { judge: self.judge.clone(), options: self.options.clone(), ..with.clone() };
        if *self != known || with.options != options {
            return Err("results of other questions, models, documents, options or of another version".to_owned());
        }
        (self.judge, self.options) = (judge, options);
        Ok(())
    }
}

/// Why a file of results is not added to.
const TAKEN: &str = "another evaluation is writing to it; wait for its end, or name another file with --out";

/// All results of a file.
#[derive(Clone, Debug, Default)]
pub struct Results {
    pub header: Header,
    pub scored: Vec<Scored>,
    /// Runs that brought no answer: their questions are asked again, and what they took stays spent.
    pub stopped: Vec<Scored>,
}

impl Results {
    /// Reads a file of results; a last line that was cut off by the end of a process is left out. Of several lines for
    /// one answer the last counts.
    ///
    /// # Errors
    /// When it cannot be read, or is no file of results.
    pub fn read(path: &Path) -> Result<Self, String> {
        Self::parse(&fs::read(path).map_err(|error| error.to_string())?)
    }

    /// Reads the file of an evaluation that goes on, and keeps others from adding to it while it is open; `None` when
    /// there is none.
    ///
    /// # Errors
    /// As [`Self::read`]; and another evaluation is adding to it.
    pub fn take(path: &Path) -> Result<Option<(File, Self)>, String> {
        let mut file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(|error| error.to_string())?,
        };
        lock(&file).map_err(|error| error.to_string())?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        Ok(Some((file, Self::parse(&bytes)?)))
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        // The last line may have been cut off inside a character.
        let text = String::from_utf8_lossy(bytes);
        let (first, rest) = text.split_once('\n').unwrap_or((&*text, ""));
        let header = serde_json::from_str(first).map_err(|_| "it is no file of results".to_owned())?;
        let mut results = Self { header, ..Self::default() };
        let lines: Vec<&str> = rest.split_inclusive('\n').collect();
        for (number, line) in lines.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            match serde_json::from_str(line) {
                Ok(one) => results.put(one),
                Err(_) if number + 1 == lines.len() && !line.ends_with('\n') => {}
                Err(error) => return Err(format!("line {}: {error}", number + 2)),
            }
        }
        Ok(results)
    }

    /// Returns what all runs took, those without an answer and the judges included.
    pub fn spent(&self) -> Spent {
        self.scored.iter().chain(&self.stopped).map(Scored::total).fold(Spent::default(), |mut sum, one| {
            sum += one;
            sum
        })
    }

    /// Returns the answers that are there: question and run.
    pub fn done(&self) -> HashSet<(String, u32)> {
        self.scored.iter().map(|one| (one.id.clone(), one.run)).collect()
    }

    /// Writes the file, whole lines only, and leaves it open for more, and closed to other evaluations. It takes the
    /// place of the one that was taken, which has to stay open, or there must be none.
    ///
    /// # Errors
    /// When it cannot be written, or another evaluation has made one meanwhile.
    pub fn write(&self, path: &Path, taken: Option<&File>) -> io::Result<File> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.part", std::process::id()));
        let part = path.with_file_name(name);
        let written = self.write_part(&part).and_then(|file| {
            match taken {
                Some(_) => fs::rename(&part, path)?,
                None => put_new(&part, path)?,
            }
            Ok(file)
        });
        if written.is_err() || taken.is_none() {
            let _ = fs::remove_file(&part);
        }
        written
    }

    fn write_part(&self, part: &Path) -> io::Result<File> {
        let mut text = line(&self.header)?;
        for one in self.scored.iter().chain(&self.stopped) {
            text.push_str(&line(one)?);
        }
        fs::write(part, text)?;
        let file = OpenOptions::new().append(true).open(part)?;
        // Before it has its name, so that nobody else can be first.
        lock(&file)?;
        Ok(file)
    }

    /// Takes in one more answer, or one that more is known of, in the file as well.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&mut self, file: &mut File, one: Scored) -> io::Result<()> {
        file.write_all(line(&one)?.as_bytes())?;
        self.put(one);
        Ok(())
    }

    fn put(&mut self, one: Scored) {
        if one.stopped {
            self.stopped.push(one);
            return;
        }
        match self.scored.iter_mut().find(|known| (&known.id, known.run) == (&one.id, one.run)) {
            Some(known) => *known = one,
            None => self.scored.push(one),
        }
    }
}

/// Keeps other evaluations away as long as the file is open. Where the system has no locks, nobody is kept away.
fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(io::Error::new(io::ErrorKind::ResourceBusy, TAKEN)),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

/// Gives the part its name, which no other file may have; where the system has no second names, it is renamed.
fn put_new(part: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(part, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(io::Error::new(error.kind(), TAKEN)),
        Err(_) => fs::rename(part, path),
        Ok(()) => Ok(()),
    }
}

fn line(value: &impl Serialize) -> io::Result<String> {
    Ok(serde_json::to_string(value)? + "\n")
}

/// Returns the answer as Deep Research Bench takes it; `None` when there is no report.
pub fn benchmark_line(scored: &Scored) -> Option<String> {
    let id = scored.id.parse::<u64>().map_or_else(|_| json!(scored.id), |number| json!(number));
    let article = scored.report.as_ref()?;
    Some(json!({"id": id, "prompt": scored.question, "article": article}).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::Judged;

    #[test]
    fn a_judge_may_come_later_and_stays() {
        let judge = |name: &str| Some(name.to_owned()).filter(|name| !name.is_empty());
        let header = |model: &str, name: &str| Header {
            models: vec![model.to_owned()],
            judge: judge(name),
            ..Header::default()
        };
        let check = |before: &str, with: (&str, &str), expected: Option<&str>| {
            let mut known = header("m", before);
            let after = known.go_on(&header(with.0, with.1)).ok().map(|()| known.judge.unwrap_or_default());
            assert_eq!(after.as_deref(), expected, "{before} with {with:?}");
        };
        check("", ("m", ""), Some(""));
        check("", ("m", "j"), Some("j"));
        check("j", ("m", ""), Some("j"));
        check("j", ("m", "j"), Some("j"));
        check("j", ("m", "k"), None);
        check("j", ("n", "j"), None);
    }

    #[test]
    fn results_of_other_options_are_not_gone_on_with() {
        let header = |options: Option<&str>| Header { options: options.map(str::to_owned), ..Header::default() };
        let check = |before: Option<&str>, with: &str, expected: Option<&str>| {
            let mut known = header(before);
            let after = known.go_on(&header(Some(with))).ok().and(known.options);
            assert_eq!(after.as_deref(), expected, "{before:?} with {with}");
        };
        check(Some("a"), "a", Some("a"));
        check(Some("a"), "b", None);
        check(None, "b", Some("b"));
    }

    /// Each would put its own in the place of what the other had added.
    #[test]
    fn two_evaluations_do_not_write_to_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        let results = Results::default();
        assert!(Results::take(&path).unwrap().is_none());
        let first = results.write(&path, None).unwrap();
        assert_eq!(results.write(&path, None).unwrap_err().to_string(), TAKEN, "both saw that there was none");
        assert_eq!(Results::take(&path).unwrap_err(), TAKEN);
        drop(first);
        let (taken, read) = Results::take(&path).unwrap().unwrap();
        assert_eq!(Results::take(&path).unwrap_err(), TAKEN);
        let again = read.write(&path, Some(&taken)).unwrap();
        assert_eq!(Results::take(&path).unwrap_err(), TAKEN);
        drop((taken, again));
        assert!(Results::take(&path).unwrap().is_some());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no part is left");
        fs::create_dir(folder.path().join("folder")).unwrap();
        assert!(read.write(&folder.path().join("folder"), Some(&File::open(&path).unwrap())).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nor after an error");
    }

    #[test]
    fn what_a_run_took_that_brought_no_answer_stays_spent() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        let mut results = Results::default();
        let mut file = results.write(&path, None).unwrap();
        let one = |stopped: bool, calls: u64| Scored {
            id: "7".into(),
            run: 1,
            stopped,
            spent: Spent { calls, ..Spent::default() },
            ..Scored::default()
        };
        results.add(&mut file, one(true, 3)).unwrap();
        results.add(&mut file, one(true, 4)).unwrap();
        assert_eq!(Results::read(&path).unwrap().done(), HashSet::new(), "the question is asked again");
        results.add(&mut file, one(false, 5)).unwrap();
        drop(file);
        let (taken, read) = Results::take(&path).unwrap().unwrap();
        drop(read.write(&path, Some(&taken)).unwrap());
        let read = Results::read(&path).unwrap();
        assert_eq!((read.scored.len(), read.stopped.len(), read.spent().calls), (1, 2, 12));
        assert_eq!(read.done(), HashSet::from([("7".to_owned(), 1)]));
    }

    #[test]
    fn a_file_that_was_cut_off_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        let header =
            Header { fathom: "1".into(), models: vec!["m".into()], questions: "q".into(), ..Header::default() };
        let mut results = Results { header, ..Results::default() };
        let mut file = results.write(&path, None).unwrap();
        let one = |id: &str| Scored { id: id.into(), run: 1, report: Some("# R".into()), ..Scored::default() };
        results.add(&mut file, one("7")).unwrap();
        results.add(&mut file, Scored { judged: Some(Judged::default()), ..one("7") }).unwrap();
        file.write_all(b"{\"id\": \"8\", \"question\": \"caf\xc3").unwrap();
        let read = Results::read(&path).unwrap();
        assert_eq!(read.done(), HashSet::from([("7".to_owned(), 1)]));
        assert!(read.scored[0].judged.is_some(), "the last line of an answer counts");
        drop(file);
        let (taken, read) = Results::take(&path).unwrap().unwrap();
        read.write(&path, Some(&taken)).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 2);
        assert_eq!(benchmark_line(&one("7")).unwrap(), r##"{"id":7,"prompt":"","article":"# R"}"##);
        assert_eq!(benchmark_line(&Scored { report: None, ..one("7") }), None);
    }
}
