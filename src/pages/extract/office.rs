//! Documents that are packages: those of office programs, and EPUB. What a package is shows in what it holds.

use super::{
    Document, Unreadable, docx, epub, odf,
    package::{Package, resolve},
    pptx, xlsx,
    xml::Element,
};

/// Reads a package of any kind.
///
/// # Errors
/// [`Unreadable`]: damaged, encrypted, too large, or of a kind that is not read.
pub(super) fn read(bytes: &[u8]) -> Result<Document, Unreadable> {
    if bytes.starts_with(&OLE) {
        return Err(of_old_office(bytes));
    }
    let mut package = Package::open(bytes)?;
    let mut document = match kind_of(&mut package)? {
        Kind::Docx(main) => docx::read(&mut package, &main)?,
        Kind::Pptx(main) => pptx::read(&mut package, &main)?,
        Kind::Xlsx(main) => Document { has_records: true, ..xlsx::read(&mut package, &main)? },
        Kind::Odf => odf::read(&mut package)?,
        Kind::Epub => epub::read(&mut package)?,
    };
    document.missing = document.missing.or(package.missing);
    Ok(document)
}

enum Kind {
    /// With the name of its main part.
    Docx(String),
    Pptx(String),
    Xlsx(String),
    Odf,
    Epub,
}

/// The first bytes of what older office programs write, and newer ones around a document with a password.
const OLE: [u8; 8] = [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];

fn of_old_office(bytes: &[u8]) -> Unreadable {
    let name: Vec<u8> = "EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes).collect();
    Unreadable::new(match memchr::memmem::find(bytes, &name) {
        Some(_) => "it is encrypted",
        None => "it is of an older kind of office document that is not read; save it in the present one",
    })
}

fn kind_of(package: &mut Package<'_>) -> Result<Kind, Unreadable> {
    let mimetype = package.optional("mimetype")?.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
    match mimetype.as_deref() {
        Some("application/epub+zip") => return Ok(Kind::Epub),
        Some(kind) if kind.starts_with("application/vnd.oasis.opendocument.") => return Ok(Kind::Odf),
        _ => {}
    }
    if let Some(main) = main_part(package)? {
        return match main.split_once('/').map(|(folder, _)| folder) {
            Some("word") => Ok(Kind::Docx(main)),
            Some("ppt") => Ok(Kind::Pptx(main)),
            Some("xl") if main.ends_with(".xml") => Ok(Kind::Xlsx(main)),
            _ => Err(not_read()),
        };
    }
    match (package.has("META-INF/container.xml"), package.has("content.xml") && package.has("META-INF/manifest.xml")) {
        (true, _) => Ok(Kind::Epub),
        (_, true) => Ok(Kind::Odf),
        _ => Err(not_read()),
    }
}

/// Returns the name of the part that the relations of an office document say is the document.
fn main_part(package: &mut Package<'_>) -> Result<Option<String>, Unreadable> {
    let Some(relations) = package.xml("_rels/.rels")? else { return Ok(None) };
    let is_main =
        |relation: &&Element| relation.attribute("Type").is_some_and(|kind| kind.ends_with("/officeDocument"));
    let main = relations.root.elements().find(is_main).and_then(|relation| relation.attribute("Target"));
    Ok(main.map(|target| resolve("", target)))
}

fn not_read() -> Unreadable {
    Unreadable::new("it is an archive of a kind that is not read")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_document_is_named() {
        let refused = |bytes: &[u8]| read(bytes).unwrap_err().0;
        assert_eq!(refused(b"PK\x03\x04 nothing"), "could not read it: it is damaged");
        let empty = b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
        assert_eq!(refused(empty), "it is an archive of a kind that is not read");
        let old = [&OLE[..], &[0; 600]].concat();
        assert!(refused(&old).contains("older kind"));
        let name: Vec<u8> = "EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(refused(&[&OLE[..], &name].concat()), "it is encrypted");
    }
}
