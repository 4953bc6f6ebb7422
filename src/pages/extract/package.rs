//! Packages of files, which documents of office programs and EPUB are. What is taken out of one is bounded, whatever
//! its sizes say.

use std::{
    collections::HashMap,
    io::{Cursor, Read},
};

use zip::{ZipArchive, result::ZipError};

use super::{
    Document, Unreadable, date,
    xml::{self, Element, Tree},
};

const MAX_FILES: usize = 20_000;
/// The largest part, unpacked.
const MAX_PART_BYTES: u64 = 64 * 1024 * 1024;
/// The most that is read of a package, unpacked.
const MAX_BYTES: u64 = 192 * 1024 * 1024;
/// The most that a package may say that it holds.
const MAX_PROMISED_BYTES: u128 = 2 * 1024 * 1024 * 1024;

/// An opened package.
pub(super) struct Package<'a> {
    pub bytes: &'a [u8],
    archive: ZipArchive<Cursor<&'a [u8]>>,
    room: u64,
    /// What could not be read, for people.
    pub missing: Option<String>,
}

impl<'a> Package<'a> {
    /// Opens a package.
    ///
    /// # Errors
    /// [`Unreadable`]: damaged, or there is too much in it.
    pub fn open(bytes: &'a [u8]) -> Result<Self, Unreadable> {
        let archive = ZipArchive::new(Cursor::new(bytes)).map_err(|_| damaged())?;
        let promised = archive.decompressed_size().unwrap_or(0);
        if archive.len() > MAX_FILES || promised > MAX_PROMISED_BYTES {
            return Err(Unreadable::new("there is too much in it"));
        }
        Ok(Self { bytes, archive, room: MAX_BYTES, missing: None })
    }

    pub fn has(&self, name: &str) -> bool {
        self.archive.index_for_name(name).is_some()
    }

    /// Returns a part, if there is one of that name.
    ///
    /// # Errors
    /// [`Unreadable`]: encrypted, damaged, or too much.
    pub fn optional(&mut self, name: &str) -> Result<Option<Vec<u8>>, Unreadable> {
        let file = match self.archive.by_name(name) {
            Ok(file) => file,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED)) => return Err(encrypted()),
            Err(_) => return Err(damaged()),
        };
        let most = self.room.min(MAX_PART_BYTES);
        let mut bytes = Vec::new();
        let whole = file.take(most + 1).read_to_end(&mut bytes);
        let read = bytes.len() as u64;
        // What is read in vain counts, too: what is left may still be read after it.
        self.room = self.room.saturating_sub(read);
        whole.map_err(|_| damaged())?;
        if read > most {
            return Err(Unreadable::new("there is too much in it"));
        }
        Ok(Some(bytes))
    }

    /// Returns a part that is XML.
    ///
    /// # Errors
    /// As [`Self::optional`].
    pub fn xml(&mut self, name: &str) -> Result<Option<Tree>, Unreadable> {
        let Some(bytes) = self.optional(name)? else { return Ok(None) };
        let tree = xml::parse(&xml::decode(&bytes)?)?;
        if tree.is_cut {
            self.missing = Some("only its first part is searched".to_owned());
        }
        Ok(Some(tree))
    }

    /// Returns a part that is XML, and without which the document is still worth reading.
    pub fn extra(&mut self, name: &str) -> Option<Tree> {
        let tree = self.xml(name);
        if tree.is_err() {
            self.missing = Some("a part of it could not be read".to_owned());
        }
        tree.ok().flatten()
    }

    /// Returns a part that has to be there.
    ///
    /// # Errors
    /// As [`Self::optional`].
    pub fn required(&mut self, name: &str) -> Result<Tree, Unreadable> {
        self.xml(name)?.ok_or_else(damaged)
    }

    /// Returns where the relations of a part lead, by their ids, with their kinds.
    ///
    /// # Errors
    /// As [`Self::optional`].
    pub fn relations(&mut self, part: &str) -> Result<HashMap<String, Relation>, Unreadable> {
        let (folder, name) = part.rsplit_once('/').unwrap_or(("", part));
        let Some(tree) = self.xml(&format!("{folder}/_rels/{name}.rels"))? else { return Ok(HashMap::new()) };
        let relation = |element: &Element| {
            let target = resolve(folder, element.attribute("Target")?);
            let kind = element.attribute("Type")?.rsplit('/').next().unwrap_or_default().to_owned();
            Some((element.attribute("Id")?.to_owned(), Relation { kind, target }))
        };
        Ok(tree.root.elements().filter_map(relation).collect())
    }

    /// Returns what an office document of Microsoft's kind says of itself.
    ///
    /// # Errors
    /// As [`Self::optional`].
    pub fn core_properties(&mut self) -> Result<Properties, Unreadable> {
        let tree = self.xml("docProps/core.xml")?;
        Ok(tree.map(|tree| Properties::of(&tree.root, &["modified", "created"], &["creator"])).unwrap_or_default())
    }
}

pub(super) struct Relation {
    pub kind: String,
    pub target: String,
}

/// What a document says of itself.
#[derive(Default)]
pub(super) struct Properties {
    pub title: Option<String>,
    pub author: Option<String>,
    pub saved: Option<String>,
}

impl Properties {
    /// Reads the properties under an element, with the names of dates and authors that count, the best first.
    pub fn of(element: &Element, dates: &[&str], authors: &[&str]) -> Self {
        let value = |name: &&str| element.find(name)?.line();
        Self {
            title: value(&"title").filter(|title| !is_by_program(title)),
            author: authors.iter().find_map(|name| value(name).filter(|author| !is_program(author))),
            saved: dates.iter().find_map(|name| day_of(&value(name)?)),
        }
    }

    /// Returns the document with these, where they say something.
    pub fn of_document(self, document: Document) -> Document {
        Document {
            saved: self.saved,
            author: self.author.or(document.author),
            title: document.title.or(self.title),
            ..document
        }
    }
}

/// Times of the templates from which libraries make documents, which say nothing of these: `python-docx` and
/// `python-pptx` keep them, others begin to count there.
const OF_TEMPLATES: [&str; 4] = ["2013-12-23T23:15", "2013-01-27T09:14", "1980-01-01T00:00", "1970-01-01T00:00"];

fn day_of(time: &str) -> Option<String> {
    if OF_TEMPLATES.iter().any(|template| time.starts_with(template)) { None } else { date::parse(time) }
}

/// Returns whether an author is a program that names itself, or says that it knows none.
pub(super) fn is_program(author: &str) -> bool {
    const NAMES: [&str; 9] = [
        "python-docx",
        "openpyxl",
        "xlsxwriter",
        "apache poi",
        "phpword",
        "anonymous",
        "(anonymous)",
        "unspecified",
        "unknown",
    ];
    let lower = author.to_lowercase();
    NAMES.contains(&lower.trim())
}

/// Returns whether a title is what a program writes there by itself.
pub(super) fn is_by_program(title: &str) -> bool {
    let lower = title.to_lowercase();
    ["untitled", "(anonymous)", "microsoft word", "word document", "document1", "powerpoint", "präsentation"]
        .iter()
        .any(|start| lower.starts_with(start))
        || [".doc", ".docx", ".tex", ".dvi", ".indd", ".qxd"].iter().any(|end| lower.ends_with(end))
}

/// Returns a path within the package, as seen from a folder of it.
pub(super) fn resolve(folder: &str, target: &str) -> String {
    let mut names: Vec<&str> = match target.starts_with('/') {
        true => Vec::new(),
        false => folder.split('/').filter(|name| !name.is_empty()).collect(),
    };
    for name in target.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    names.join("/")
}

pub(super) fn damaged() -> Unreadable {
    Unreadable::new("could not read it: it is damaged")
}

pub(super) fn encrypted() -> Unreadable {
    Unreadable::new("it is encrypted")
}

/// Returns a package of these parts.
#[cfg(test)]
pub(super) fn zipped(parts: &[(&str, &str)]) -> Vec<u8> {
    use std::io::Write as _;
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in parts {
        writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(content.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_within_a_package() {
        assert_eq!(resolve("ppt/slides", "../notesSlides/n1.xml"), "ppt/notesSlides/n1.xml");
        assert_eq!(resolve("word", "/word/x.xml"), "word/x.xml");
        assert_eq!(resolve("", "../../etc/passwd"), "etc/passwd");
    }

    #[test]
    fn what_a_library_writes_by_itself_says_nothing() {
        assert_eq!(day_of("2013-12-23T23:15:00Z"), None);
        assert_eq!(day_of("2013-12-23T09:00:00Z").as_deref(), Some("2013-12-23"));
        assert!(is_program("python-docx") && is_program("(anonymous)") && !is_program("Ada Penhallow"));
        let meta = "<meta><initial-creator>Unknown</initial-creator><creator>Ada Penhallow</creator></meta>";
        let properties = Properties::of(&xml::parse(meta).unwrap().root, &[], &["initial-creator", "creator"]);
        assert_eq!(properties.author.as_deref(), Some("Ada Penhallow"));
    }
}
