//! A collector of traces that speaks OTLP over HTTP (`POST /v1/traces`, protobuf), on loopback.

use std::{collections::BTreeMap, net::SocketAddr, sync::Arc};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::post,
};
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{AnyValue, KeyValue, any_value},
    trace::v1::status::StatusCode as SpanStatus,
};
use parking_lot::Mutex;
use prost::Message as _;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::openai;

/// The server and everything it was sent; stops when dropped.
pub struct FakeCollector {
    state: Arc<Received>,
    address: SocketAddr,
    /// Owns the server.
    _server: JoinSet<()>,
}

#[derive(Default)]
struct Received {
    /// Bodies as they came, and the header that lets in.
    batches: Mutex<Vec<(Bytes, Option<String>)>>,
    /// Answers everything with this status.
    refusing: Option<StatusCode>,
}

/// A span as it was sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// Hex, as the other ids.
    pub trace_id: String,
    pub id: String,
    /// Empty for a root.
    pub parent: String,
    pub name: String,
    pub attributes: BTreeMap<String, Value>,
    pub failed: bool,
    /// Of the resource.
    pub service: String,
}

impl FakeCollector {
    pub async fn start() -> Self {
        Self::with(Received::default()).await
    }

    /// Starts a collector that takes nothing.
    pub async fn refusing(status: u16) -> Self {
        let refusing = StatusCode::from_u16(status).ok();
        Self::with(Received { refusing, ..Received::default() }).await
    }

    async fn with(state: Received) -> Self {
        let state = Arc::new(state);
        let router = Router::new().route("/v1/traces", post(take)).with_state(Arc::clone(&state));
        let (address, server) = openai::serve(router).await;
        Self { state, address, _server: server }
    }

    /// Returns the endpoint as `OTEL_EXPORTER_OTLP_ENDPOINT` wants it.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    fn batches(&self) -> Vec<(Bytes, Option<String>)> {
        self.state.batches.lock().clone()
    }

    /// Does any batch hold these bytes, wherever?
    pub fn holds(&self, needle: &str) -> bool {
        self.batches().iter().any(|(body, _)| body.windows(needle.len()).any(|window| window == needle.as_bytes()))
    }

    /// Returns the `Authorization` of every batch.
    pub fn authorizations(&self) -> Vec<Option<String>> {
        self.batches().into_iter().map(|(_, authorization)| authorization).collect()
    }

    /// Returns all spans so far, in the order they ended.
    pub fn spans(&self) -> Vec<Span> {
        let mut spans = Vec::new();
        for (body, _) in self.batches() {
            let request = ExportTraceServiceRequest::decode(body).expect("a batch is protobuf");
            for resource_spans in request.resource_spans {
                let resource =
                    attributes(resource_spans.resource.map(|resource| resource.attributes).unwrap_or_default());
                let service = resource.get("service.name").and_then(Value::as_str).unwrap_or_default().to_owned();
                let sent = resource_spans.scope_spans.into_iter().flat_map(|scope| scope.spans);
                spans.extend(sent.map(|span| Span {
                    trace_id: hex(&span.trace_id),
                    id: hex(&span.span_id),
                    parent: hex(&span.parent_span_id),
                    name: span.name,
                    attributes: attributes(span.attributes),
                    failed: span.status.is_some_and(|status| status.code == SpanStatus::Error as i32),
                    service: service.clone(),
                }));
            }
        }
        spans
    }
}

async fn take(State(state): State<Arc<Received>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let authorization = headers.get("authorization").and_then(|value| value.to_str().ok()).map(str::to_owned);
    state.batches.lock().push((body, authorization));
    state.refusing.unwrap_or(StatusCode::OK)
}

fn attributes(pairs: Vec<KeyValue>) -> BTreeMap<String, Value> {
    pairs.into_iter().map(|pair| (pair.key, value(pair.value))).collect()
}

fn value(value: Option<AnyValue>) -> Value {
    match value.and_then(|value| value.value) {
        Some(any_value::Value::StringValue(text)) => json!(text),
        Some(any_value::Value::IntValue(number)) => json!(number),
        Some(any_value::Value::BoolValue(flag)) => json!(flag),
        Some(any_value::Value::DoubleValue(number)) => json!(number),
        Some(any_value::Value::ArrayValue(array)) => array.values.into_iter().map(|v| self::value(Some(v))).collect(),
        _ => Value::Null,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
