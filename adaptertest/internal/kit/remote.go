package kit

// Remote is an adapter in another program.
type Remote interface {
	// Unverifiable says why the clause can't be verified through the program, or
	// returns "".
	Unverifiable(clause string) string
	// Fault says what went wrong with the program since the adapter was opened, or
	// returns "". It is no breach of the adapter.
	Fault() string
}
