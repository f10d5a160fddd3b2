package password_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/password"
)

// A site that moves from Django. Its users keep their passwords, and have hashes of
// argon2id after their next sign-in.
func ExampleHasher_Check() {
	hasher, err := password.NewHasher(password.Options{Imported: []password.Format{password.DjangoPBKDF2{Iterations: 1000}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	const stored = "pbkdf2_sha256$1000$9oqyVnaunG579OQFUZlcfJ$+doWrorFyraeN4LP9zGnFo+1nwGK6UP9zHaLuJj9gjM="
	const client = "192.0.2.1" // Attempt.Client, or Handler.ClientAddress
	checked, err := hasher.Check(context.Background(), client, stored, "pa\u0301ssword of \u00e5ngstr\u00f6m 1")
	fmt.Println(checked.Matches, strings.HasPrefix(checked.Rehash, "$argon2id$"), err)
	// Output: true true <nil>
}

func ExampleRules_Check() {
	rules := password.Rules{Words: []string{"Example Shop"}}
	for _, text := range []string{"short", "passwordpassword", "Example Shop 2026", "a sentence that one remembers"} {
		fmt.Println(rules.Check(context.Background(), text, "ada@example.com"))
	}
	// Output:
	// password: refused: too-short
	// password: refused: too-common
	// password: refused: too-obvious
	// <nil>
}
