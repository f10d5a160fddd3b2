// Package stores finds the real servers that tests run against: PostgreSQL, PgBouncer, Redis, Valkey and MongoDB, alone and
// in groups. See Kind.
//
// Each is looked for in this order: a URL in the environment, then a container. A container runs the official image
// where the engine reaches a registry (or has the image already), and the local image made by images/build where it
// does not. Whatever a run starts listens on loopback only, keeps its data inside the container, is shared by the whole
// run and removed by Close. Runs don't see each other: every run has its own containers, on ports of its own.
//
// What is missing is an error that names it, never a silent skip.
package stores
