package kit

import "context"

// Remote is an adapter in another program.
type Remote interface {
	// Unverifiable says why the clause can't be verified through the program, or
	// returns "".
	Unverifiable(clause string) string
	// Fault says what went wrong with the program since the adapter was opened, or
	// returns "". It is no breach of the adapter.
	Fault() string
	// Tasks returns how many tasks the handle and its calls have started that have not
	// ended. The handle may be closed.
	Tasks(ctx context.Context) (int, error)
}
