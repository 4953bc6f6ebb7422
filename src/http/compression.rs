//! The form in which a whole answer goes out: not at all to who has this very version, and compressed where it is a
//! long text.
//!
//! A text is compressed before the first byte of it is sent. So an answer that nobody reads holds its compressed bytes
//! and no state of a compressor, which takes more than most texts.

use std::{
    collections::HashMap,
    io::{self, Write as _},
    sync::Arc,
};

use axum::{
    body::{Body, Bytes, HttpBody as _, to_bytes},
    extract::{Request, State as Shared},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use flate2::{Compression as Level, write::GzEncoder};
use futures::stream;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{
    State,
    error::ApiError,
    extract::{has_version, takes_gzip},
    outgoing::SMALL_BYTES,
};

/// Bytes of a text that are compressed where they are; more would keep a thread of the runtime for long.
const HERE: usize = 64 * 1024;
/// What is compressed.
const TEXTS: [&str; 6] =
    ["application/json", "application/yaml", "text/css", "text/html", "text/javascript", "text/markdown"];

/// Marks an answer that is a file of this program, which its version names: it is compressed once.
#[derive(Clone, Copy, Debug)]
pub struct OwnFile;

/// Marks an answer that is compressed as soon as there is room for it.
#[derive(Clone, Copy, Debug)]
pub struct ToCompress;

/// Compresses answers.
#[derive(Debug)]
pub struct Compression {
    /// The program's own files, compressed, by their version.
    files: Arc<Mutex<HashMap<HeaderValue, Bytes>>>,
    /// One long text is compressed at a time, so that a processor is left for everything else.
    turn: Arc<Semaphore>,
}

impl Default for Compression {
    fn default() -> Self {
        Self { files: Arc::default(), turn: Arc::new(Semaphore::new(1)) }
    }
}

/// Decides how an answer goes out, and says so in its headers, whether it is sent or known to the client already.
pub async fn choose(Shared(state): Shared<State>, request: Request, next: Next) -> Response {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let asked = request.headers().clone();
    let mut response = next.run(request).await;
    if response.status() != StatusCode::OK {
        return response;
    }
    let depends = is_long_text(&response);
    let compresses = depends && takes_gzip(&asked);
    if depends {
        response.headers_mut().append(header::VARY, header::ACCEPT_ENCODING.into());
    }
    if compresses {
        weaken(response.headers_mut());
    }
    let version = response.headers().get(header::ETAG).and_then(|tag| tag.to_str().ok());
    if reads && version.is_some_and(|version| has_version(&asked, version)) {
        return not_modified(response);
    }
    match compresses {
        true => state.compression.begin(response).await.unwrap_or_else(ApiError::into_response),
        false => response,
    }
}

/// Returns whether an answer is a text that may be compressed. Not a stream, whose events have to leave at once; nor
/// what hands out a secret, a link or key that was made or a cookie: how well it is compressed would say something of
/// it.
fn is_long_text(response: &Response) -> bool {
    let headers = response.headers();
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = content_type.split(';').next().unwrap_or_default().trim();
    let is_long = response.body().size_hint().exact().is_some_and(|size| size > SMALL_BYTES);
    is_long && !headers.contains_key(header::SET_COOKIE) && TEXTS.contains(&kind)
}

/// Says of a compressed answer that its bytes are others than those its version stands for.
fn weaken(headers: &mut HeaderMap) {
    let tag = headers.get(header::ETAG).and_then(|tag| tag.to_str().ok()).filter(|tag| !tag.starts_with("W/"));
    if let Some(weak) = tag.and_then(|tag| HeaderValue::try_from(format!("W/{tag}")).ok()) {
        headers.insert(header::ETAG, weak);
    }
}

/// Returns the answer without its content, and without what is said of content alone.
fn not_modified(response: Response) -> Response {
    let (mut parts, _) = response.into_parts();
    parts.status = StatusCode::NOT_MODIFIED;
    parts.headers.remove(header::CONTENT_TYPE);
    // Of a body that is known to be empty, the length would be sent: the wrong one (RFC 9110, 8.6).
    Response::from_parts(parts, Body::from_stream(stream::empty::<io::Result<Bytes>>()))
}

impl Compression {
    /// Puts what is kept of a file of this program in its place; marks everything else for [`Self::finish`].
    async fn begin(&self, mut response: Response) -> Result<Response, ApiError> {
        response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        let is_file = response.extensions_mut().remove::<OwnFile>().is_some();
        let Some(version) = response.headers().get(header::ETAG).filter(|_| is_file) else {
            response.extensions_mut().insert(ToCompress);
            return Ok(response);
        };
        let version = version.clone();
        let (parts, text) = response.into_parts();
        let kept = self.files.lock().get(&version).cloned();
        let file = match kept {
            Some(file) => file,
            None => self.file(version, whole(text).await?).await?,
        };
        Ok(Response::from_parts(parts, file.into()))
    }

    /// Compresses a file of this program and keeps it, also for those who ask for it meanwhile, and if who asked first
    /// has gone away. Short ones are compressed as far as can be.
    async fn file(&self, version: HeaderValue, text: Bytes) -> Result<Bytes, ApiError> {
        let (bytes, files) = (text.len(), Arc::clone(&self.files));
        let work = move || {
            if let Some(file) = files.lock().get(&version) {
                return Ok(file.clone());
            }
            let level = if bytes <= HERE { Level::best() } else { Level::fast() };
            let file = compressed(&text, level)?;
            files.lock().insert(version, file.clone());
            Ok(file)
        };
        self.off_the_runtime(bytes, work).await
    }

    /// Compresses an answer. Its room, for the text and as much again, is cut down to what is held afterwards.
    ///
    /// # Cancel safety
    /// What has begun goes on to its end and keeps its room until then.
    pub async fn finish(
        &self,
        response: Response,
        mut room: OwnedSemaphorePermit,
    ) -> Result<(Response, OwnedSemaphorePermit), ApiError> {
        let (parts, text) = response.into_parts();
        let text = whole(text).await?;
        let bytes = text.len();
        let work = move || {
            let body = compressed(&text, Level::fast())?;
            drop(text);
            drop(room.split(room.num_permits().saturating_sub(body.len())));
            Ok((body, room))
        };
        let (body, room) = self.off_the_runtime(bytes, work).await?;
        Ok((Response::from_parts(parts, body.into()), room))
    }

    /// Works on so many bytes of text, on the runtime's own threads only when they are few.
    async fn off_the_runtime<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> Result<T, ApiError> {
        let done = if bytes <= HERE {
            work()
        } else {
            // Never closed; without a turn the work would merely go uncounted. It moves into the work, which goes on
            // when the client goes away.
            let turn = Arc::clone(&self.turn).acquire_owned().await.ok();
            let work = move || {
                let done = work();
                drop(turn);
                done
            };
            tokio::task::spawn_blocking(work).await.map_err(|error| ApiError::defect(&error))?
        };
        done.map_err(|error| ApiError::defect(&error))
    }
}

/// Returns a body that is there already, in one piece.
async fn whole(body: Body) -> Result<Bytes, ApiError> {
    to_bytes(body, usize::MAX).await.map_err(|error| ApiError::defect(&error))
}

/// Compresses a text. The result takes no more memory than its bytes, and on the way no more than the text does.
fn compressed(text: &[u8], level: Level) -> io::Result<Bytes> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(text.len()), level);
    encoder.write_all(text)?;
    let mut bytes = encoder.finish()?;
    bytes.shrink_to_fit();
    Ok(bytes.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is not read for long holds little.
    #[tokio::test]
    async fn an_answer_keeps_the_room_of_what_is_left_of_it() {
        for bytes in [HERE, HERE + 1, 1 << 20] {
            let room = Arc::new(Semaphore::new(4 << 20));
            let taken = Arc::clone(&room).try_acquire_many_owned(u32::try_from(2 * bytes).unwrap()).unwrap();
            let answer = Response::new(Body::from("Dues. ".repeat(bytes)[..bytes].to_owned()));
            let (answer, taken) = Compression::default().finish(answer, taken).await.unwrap();
            let left = answer.body().size_hint().exact().unwrap();
            assert!(left > 0 && left < bytes as u64 / 50, "{left} of {bytes}");
            assert_eq!((taken.num_permits() as u64, room.available_permits() as u64), (left, (4 << 20) - left));
        }
    }
}
