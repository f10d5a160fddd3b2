// Package stores finds the real servers that tests run against: PostgreSQL, PgBouncer, Redis, Valkey and MongoDB, alone and
// in groups. See Kind.
//
// The package first looks for a URL in the environment. If there is none, it starts a container. A container runs the
// official image if the engine reaches a registry or has the image already, and otherwise the local image that
// images/build made. A server that a run starts listens on loopback only and keeps its data inside the container. The
// whole run shares it, and Close removes it. Every run has its own containers, on its own ports.
//
// If a server is missing, the error names it. No server is skipped silently.
package stores
