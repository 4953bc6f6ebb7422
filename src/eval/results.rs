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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the program.
    pub fathom: String,
    /// Models of the roles, without repetition.
    pub models: Vec<String>,
    /// SHA-256 of the questions.
    pub questions: String,
    pub documents: Option<String>,
}

/// All results of a file.
#[derive(Clone, Debug)]
pub struct Results {
    pub header: Header,
    pub scored: Vec<Scored>,
}

impl Results {
    /// Reads a file of results; a last line that was cut off by the end of a process is left out.
    ///
    /// # Errors
    /// When it cannot be read, or is no file of results.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
        let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
        let header = serde_json::from_str(first).map_err(|_| "it is no file of results".to_owned())?;
        let mut scored = Vec::new();
        let lines: Vec<&str> = rest.split_inclusive('\n').collect();
        for (number, line) in lines.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            match serde_json::from_str(line) {
                Ok(one) => scored.push(one),
                Err(_) if number + 1 == lines.len() && !line.ends_with('\n') => {}
                Err(error) => return Err(format!("line {}: {error}", number + 2)),
            }
        }
        Ok(Self { header, scored })
    }

    /// The answers that are there: question and run.
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

    /// Takes in one more answer, in the file as well.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&mut self, file: &mut File, one: Scored) -> io::Result<()> {
        file.write_all(line(&one)?.as_bytes())?;
        self.scored.push(one);
        Ok(())
    }
}

fn line(value: &impl Serialize) -> io::Result<String> {
    Ok(serde_json::to_string(value)? + "\n")
}

/// The answer as Deep Research Bench takes it; `None` when there is no report.
pub fn benchmark_line(scored: &Scored) -> Option<String> {
    let id = scored.id.parse::<u64>().map_or_else(|_| json!(scored.id), |number| json!(number));
    let article = scored.report.as_ref()?;
    Some(json!({"id": id, "prompt": scored.question, "article": article}).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_cut_off_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        let header = Header { fathom: "1".into(), models: vec!["m".into()], questions: "q".into(), documents: None };
        let mut results = Results { header, scored: Vec::new() };
        let mut file = results.write(&path).unwrap();
        let one = |id: &str| Scored { id: id.into(), run: 1, report: Some("# R".into()), ..Scored::default() };
        results.add(&mut file, one("7")).unwrap();
        file.write_all(b"{\"id\": \"8\", \"ru").unwrap();
        let read = Results::read(&path).unwrap();
        assert_eq!(read.done(), HashSet::from([("7".to_owned(), 1)]));
        read.write(&path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 2);
        assert_eq!(benchmark_line(&one("7")).unwrap(), r##"{"id":7,"prompt":"","article":"# R"}"##);
        assert_eq!(benchmark_line(&Scored { report: None, ..one("7") }), None);
    }
}
