//! What a server says without being asked: progress, requests, notices. Counted, so that a flood ends its connection.

use std::{
    collections::HashMap,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

use parking_lot::Mutex;
use rmcp::{
    ErrorData, RoleClient, Service,
    model::{
        ClientCapabilities, ClientConfig, ClientResult, ElicitRequestParams, ElicitResult, ElicitationAction,
        ElicitationCapability, ErrorCode, Implementation, ProgressToken, ServerNotification, ServerRequest,
        UrlElicitationCapability,
    },
    service::{NotificationContext, RequestContext, RunningServiceCancellationToken},
};
use tokio::sync::watch;

use super::{Progress, SignIn, content::MAX_SIGN_INS};

/// Notices and requests that one connection may send.
const MAX_NOTICES: u32 = 20_000;

/// The state of one connection that its handler fills and its calls read. The mutexes are held for a moment.
#[derive(Default)]
pub(super) struct Notices {
    count: AtomicU32,
    /// Why we ended the connection.
    cut_off: OnceLock<&'static str>,
    /// Ends the connection.
    stop: Mutex<Option<RunningServiceCancellationToken>>,
    /// By call. A `watch` holds one value, so a slow reader misses steps and nothing piles up.
    progress: Mutex<HashMap<ProgressToken, watch::Sender<Option<Progress>>>>,
    sign_ins: Mutex<Vec<SignIn>>,
}

impl Notices {
    pub fn stop_with(&self, token: RunningServiceCancellationToken) {
        *self.stop.lock() = Some(token);
    }

    /// Returns what the server did, if we ended the connection for that.
    pub fn cut_off(&self) -> Option<&'static str> {
        self.cut_off.get().copied()
    }

    /// Ends the connection for what the server did.
    pub fn cut_off_for(&self, what: &'static str) {
        let _ = self.cut_off.set(what);
        if let Some(stop) = self.stop.lock().take() {
            stop.cancel();
        }
    }

    /// Follows the progress of a call, until the returned value is dropped.
    pub fn follow(&self, token: ProgressToken) -> Followed<'_> {
        let (sender, receiver) = watch::channel(None);
        self.progress.lock().insert(token.clone(), sender);
        Followed { notices: self, token, receiver }
    }

    /// Takes the sign-ins that were asked for since the last call of this.
    pub fn take_sign_ins(&self) -> Vec<SignIn> {
        std::mem::take(&mut *self.sign_ins.lock())
    }

    fn count(&self) {
        if self.count.fetch_add(1, Ordering::Relaxed) == MAX_NOTICES {
            self.cut_off_for("sent far more notices than it may");
        }
    }

    pub fn sign_in(&self, message: &str, url: &str) {
        let mut sign_ins = self.sign_ins.lock();
        if let Some(sign_in) = SignIn::new(message, url)
            && sign_ins.len() < MAX_SIGN_INS
        {
            sign_ins.push(sign_in);
        }
    }
}

/// The progress of one call.
pub(super) struct Followed<'a> {
    notices: &'a Notices,
    token: ProgressToken,
    pub receiver: watch::Receiver<Option<Progress>>,
}

impl Drop for Followed<'_> {
    fn drop(&mut self) {
        self.notices.progress.lock().remove(&self.token);
    }
}

/// Our side of a connection.
pub(super) struct Handler(pub std::sync::Arc<Notices>);

impl Service<RoleClient> for Handler {
    /// Refuses whatever a server asks for: no model, no folder, no form; an address to sign in at is kept for the user,
    /// who has not been asked and so has declined nothing.
    async fn handle_request(
        &self,
        request: ServerRequest,
        _: RequestContext<RoleClient>,
    ) -> Result<ClientResult, ErrorData> {
        self.0.count();
        match request {
            ServerRequest::PingRequest(_) => Ok(ClientResult::empty(())),
            ServerRequest::ElicitRequest(request) => match &request.params {
                ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
                    self.0.sign_in(message, url);
                    Ok(ClientResult::ElicitResult(ElicitResult::new(ElicitationAction::Cancel)))
                }
                _ => Err(ErrorData::new(ErrorCode::INVALID_PARAMS, "forms are not supported", None)),
            },
            _ => Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "not supported", None)),
        }
    }

    async fn handle_notification(
        &self,
        notification: ServerNotification,
        _: NotificationContext<RoleClient>,
    ) -> Result<(), ErrorData> {
        self.0.count();
        if let ServerNotification::ProgressNotification(notice) = notification {
            let notice = notice.params;
            let progress = Progress { progress: notice.progress, total: notice.total, message: notice.message };
            let calls = self.0.progress.lock();
            if let Some(sender) = calls.get(&notice.progress_token) {
                sender.send_replace(Some(progress));
            }
        }
        Ok(())
    }

    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(ElicitationCapability::new().with_url(UrlElicitationCapability::default()));
        ClientConfig::new(capabilities, Implementation::new("fathom", env!("CARGO_PKG_VERSION")))
    }
}
