//! Generators of documents that are harder to read than their size promises.

use std::io::Write as _;

use flate2::{Compression, write::ZlibEncoder};

/// A map from codes to text that begins with 293,000 parentheses.
pub fn pdf_of_parentheses() -> Vec<u8> {
    pdf_with_map("(".repeat(293_000).as_bytes(), "")
}

/// A map from all codes of four bytes.
pub fn pdf_of_all_codes() -> Vec<u8> {
    let map = "1 begincodespacerange\n<00000000> <ffffffff>\nendcodespacerange\n\
        1 beginbfrange\n<00000000> <ffffffff> <0000>\nendbfrange\n";
    pdf_with_map(map.as_bytes(), "")
}

/// A page whose content is 3 GB of zeros, packed twice.
pub fn pdf_packed_twice() -> Vec<u8> {
    let content = packed(&packed_zeros(3_000_000_000));
    let dictionary = "/Filter [/FlateDecode /FlateDecode]";
    pdf(&stream(dictionary, &content), &stream("", b""))
}

/// Elements nested 700,000 deep with closing tags between them, which a parser ignores there and a quick count does not.
pub fn deep_html() -> String {
    format!("<html><body><p>Deep.</p>{}", "<span><div></span>".repeat(350_000))
}

/// A heading of half its length above sections that each stand below it.
pub fn markdown_of_headings() -> String {
    format!("# Long {}\n\n{}", "heading ".repeat(70_000), "## a\n\nb\n".repeat(60_000))
}

/// Lists in quotes in lists, each line deeper than the one before.
pub fn deep_lists() -> String {
    (0..1_500).map(|depth| format!("{}- item {depth}\n", "> ".repeat(depth % 700))).collect()
}

/// A table of five thousand cells, and one row as long.
pub fn huge_table() -> String {
    let row = "<tr><td>1<td>2<td>3<td>4<td>5";
    format!("<table>{}</table><table><tr>{}</table>", row.repeat(1_000), "<td>x".repeat(5_000))
}

/// Brackets that open and close nothing.
pub fn brackets() -> String {
    format!("{}{}", "[".repeat(300_000), "[![".repeat(200_000))
}

/// A PDF of one page whose font has that map.
fn pdf_with_map(map: &[u8], dictionary: &str) -> Vec<u8> {
    pdf(&stream("", b"BT /F1 12 Tf 50 700 Td (Text) Tj ET"), &stream(dictionary, map))
}

fn pdf(content: &[u8], map: &[u8]) -> Vec<u8> {
    let page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R \
        /Resources << /Font << /F1 5 0 R >> >> >>";
    let font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 6 0 R >>";
    let objects: [&[u8]; 6] =
        [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>", page, content, font, map];
    let mut pdf = b"%PDF-1.4\n".to_vec();
    let mut offsets = String::new();
    for (at, object) in objects.iter().enumerate() {
        offsets += &format!("{:010} 00000 n \n", pdf.len());
        pdf.extend(format!("{} 0 obj\n", at + 1).bytes().chain(object.iter().copied()).chain(*b"\nendobj\n"));
    }
    let start = pdf.len();
    let trailer = format!(
        "xref\n0 7\n0000000000 65535 f \n{offsets}trailer\n<< /Size 7 /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    );
    pdf.extend(trailer.bytes());
    pdf
}

fn stream(dictionary: &str, content: &[u8]) -> Vec<u8> {
    let mut stream = format!("<< {dictionary} /Length {} >>\nstream\n", content.len()).into_bytes();
    stream.extend_from_slice(content);
    stream.extend(b"\nendstream");
    stream
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A zlib stream (RFC 1950) of about so many zeros, without its end: after a literal zero, matches of 258 bytes at a
/// distance of 1, each 13 bits long, so that eight of them are 13 bytes, again and again.
fn packed_zeros(count: usize) -> Vec<u8> {
    let mut bits: Vec<bool> = Vec::new();
    let push = |bits: &mut Vec<bool>, code: u32, length: u32| {
        bits.extend((0..length).rev().map(|bit| code >> bit & 1 == 1));
    };
    // The last block, with the fixed codes; then a zero.
    bits.extend([true, true, false]);
    push(&mut bits, 0b0011_0000, 8);
    let head = bits.len();
    for _ in 0..16 {
        push(&mut bits, 0b1100_0101, 8);
        push(&mut bits, 0, 5);
    }
    // From a byte's beginning on, the pattern repeats after 104 bits.
    let from = head.div_ceil(8);
    let byte = |at: usize| bits[at * 8..at * 8 + 8].iter().rev().fold(0_u8, |byte, bit| byte << 1 | u8::from(*bit));
    let mut zeros = vec![0x78, 0x9c];
    zeros.extend((0..from).map(byte));
    let period: Vec<u8> = (from..from + 13).map(byte).collect();
    zeros.extend(period.iter().copied().cycle().take(count / (8 * 258) * 13));
    zeros
}

#[test]
fn zeros_unpack_to_zeros() {
    use std::io::Read as _;
    let packed = packed_zeros(1_000_000);
    let mut zeros = Vec::new();
    // It has no end, so the reader complains when it is through.
    let _ = flate2::read::ZlibDecoder::new(packed.as_slice()).read_to_end(&mut zeros);
    assert!(zeros.len() > 990_000 && zeros.iter().all(|byte| *byte == 0), "{}", zeros.len());
    assert!(pdf_packed_twice().len() < 200_000, "{}", pdf_packed_twice().len());
}
