# syntax=docker/dockerfile:1
# The service in a small image: docker build -t fathom .
# It authenticates nobody, so it starts only with a setting that says the right people reach it:
#   docker run -p 127.0.0.1:8080:8080 -e FATHOM_OPEN=true -v fathom:/var/lib/fathom \
#     -v "$PWD/examples/library:/documents:ro" -e FATHOM_DOCS=/documents fathom
# Stages: the libraries (built again only when Cargo.toml or Cargo.lock change), the program, and what runs.
ARG RUST_VERSION=1.95
ARG DEBIAN=bookworm

FROM rust:${RUST_VERSION}-slim-${DEBIAN} AS build
WORKDIR /src
ENV CARGO_TERM_COLOR=never
# Empty targets stand in for ours, so that this layer depends on the manifests alone.
COPY Cargo.toml Cargo.lock ./
COPY crates/testkit/Cargo.toml crates/testkit/
RUN mkdir -p src crates/testkit/src \
    && touch src/lib.rs crates/testkit/src/lib.rs \
    && echo 'fn main() {}' >src/main.rs \
    && cargo build --release --locked --bin fathom
COPY migrations migrations
COPY prompts prompts
COPY web web
COPY openapi.yaml ./
COPY src src
# The empty targets may be younger than the files that were copied.
RUN touch src/lib.rs src/main.rs && cargo build --release --locked --bin fathom

FROM debian:${DEBIAN}-slim
# Certificate authorities, for providers' TLS; always the newest.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --system --gid 10001 fathom \
    && useradd --system --uid 10001 --gid fathom --home-dir /var/lib/fathom --create-home fathom
COPY --from=build /src/target/release/fathom /usr/local/bin/fathom
COPY LICENSE /usr/share/doc/fathom/LICENSE
USER 10001:10001
WORKDIR /var/lib/fathom
# The embedded database (without DATABASE_URL), the index of documents, and processes/: what each process was working on.
# Documents to be searched are mounted anywhere, read-only, and named by FATHOM_DOCS.
ENV FATHOM_LISTEN=0.0.0.0:8080 \
    FATHOM_DATA_DIR=/var/lib/fathom
VOLUME /var/lib/fathom
EXPOSE 8080
# More than FATHOM_GRACE_SECONDS has to be given for stopping: docker stop --time 30.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --start-interval=1s --retries=3 CMD ["fathom", "health"]
ENTRYPOINT ["fathom"]
CMD ["serve"]
