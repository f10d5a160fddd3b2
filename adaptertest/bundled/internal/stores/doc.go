// Package stores finds the real servers that tests run against: PostgreSQL, PgBouncer, Redis, Valkey and MongoDB, alone and
// in groups. See Kind.
//
// The package looks first for a URL in the environment; without one it starts a container. A container runs
// the official image if the engine reaches a registry (or has the image already), and otherwise the local
// image made by images/build. A server that a run starts listens on loopback only, keeps its data inside the
// container, is shared by the whole run and removed by Close. Runs are separate: every run has its own
// containers, on its own ports.
//
// If a server is missing, the error names it; it is never skipped silently.
package stores
