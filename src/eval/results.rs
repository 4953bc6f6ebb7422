//! The file of results: a header, then a scored answer per line, appended as they come, so that an evaluation that was
//! interrupted goes on where it stopped.

use std::{
    collections::HashSet,
    fs::{File, OpenOptions},
    io::{self, Write},
    path::Path,
};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Scored;

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
    /// The model that judges; absent while none was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<String>,
}

impl Header {
    /// Takes in what an evaluation goes on with: the judge may come later.
    ///
    /// # Errors
    /// When something else was measured, or another model judges.
    pub fn go_on(&mut self, with: &Self) -> Result<(), String> {
        let judge = self.judge.clone().or_else(|| with.judge.clone());
        if with.judge.is_some() && with.judge != judge {
            return Err(format!("reports judged by {}", judge.unwrap_or_default()));
        }
        if *self != (Self { judge: self.judge.clone(), ..with.clone() }) {
            return Err("results of other questions, models, documents or of another version".to_owned());
        }
        self.judge = judge;
        Ok(())
    }
}

/// All results of a file.
#[derive(Clone, Debug)]
pub struct Results {
    pub header: Header,
    pub scored: Vec<Scored>,
}

impl Results {
    /// Reads a file of results; a last line that was cut off by the end of a process is left out. Of several lines for
    /// one answer the last counts.
    ///
    /// # Errors
    /// When it cannot be read, or is no file of results.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
        let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
        let header = serde_json::from_str(first).map_err(|_| "it is no file of results".to_owned())?;
        let mut results = Self { header, scored: Vec::new() };
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

    /// Returns the answers that are there: question and run.
    pub fn done(&self) -> HashSet<(String, u32)> {
        self.scored.iter().map(|one| (one.id.clone(), one.run)).collect()
    }

    /// Rewrites the file, whole lines only, and leaves it open for more.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<File> {
        let mut text = line(&self.header)?;
        for one in &self.scored {
            text.push_str(&line(one)?);
        }
        let part = path.with_extension("part");
        std::fs::write(&part, text)?;
        std::fs::rename(&part, path)?;
        OpenOptions::new().append(true).open(path)
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
        match self.scored.iter_mut().find(|known| (&known.id, known.run) == (&one.id, one.run)) {
            Some(known) => *known = one,
            None => self.scored.push(one),
        }
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
    fn a_file_that_was_cut_off_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        let header = Header {
            fathom: "1".into(),
            models: vec!["m".into()],
            questions: "q".into(),
            documents: None,
            judge: None,
        };
        let mut results = Results { header, scored: Vec::new() };
        let mut file = results.write(&path).unwrap();
        let one = |id: &str| Scored { id: id.into(), run: 1, report: Some("# R".into()), ..Scored::default() };
        results.add(&mut file, one("7")).unwrap();
        results.add(&mut file, Scored { judged: Some(Judged::default()), ..one("7") }).unwrap();
        file.write_all(b"{\"id\": \"8\", \"ru").unwrap();
        let read = Results::read(&path).unwrap();
        assert_eq!(read.done(), HashSet::from([("7".to_owned(), 1)]));
        assert!(read.scored[0].judged.is_some(), "the last line of an answer counts");
        read.write(&path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 2);
        assert_eq!(benchmark_line(&one("7")).unwrap(), r##"{"id":7,"prompt":"","article":"# R"}"##);
        assert_eq!(benchmark_line(&Scored { report: None, ..one("7") }), None);
    }
}
