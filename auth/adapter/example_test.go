package adapter_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// mailTokens stores verification tokens alone.
type mailTokens map[adapter.VerificationTokenKey]adapter.VerificationToken

func (m mailTokens) CreateVerificationToken(_ context.Context, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
	m[t.Key()] = t
	return &t, nil
}

func (m mailTokens) UseVerificationToken(_ context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	t, ok := m[key]
	if !ok {
		return nil, nil
	}
	delete(m, key)
	return &t, nil
}

// A store for a site without database users: sign-in by mail needs only two
// methods, if sessions are tokens.
func ExamplePartial() {
	store, err := adapter.Partial(mailTokens{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	_, err = store.CreateVerificationToken(ctx, adapter.VerificationToken{Identifier: "ada@example.com", Token: "hash", Expires: time.Now().Add(time.Hour)})
	fmt.Println("stored:", err == nil)
	_, err = store.GetUser(ctx, "1")
	fmt.Println("unsupported:", errors.Is(err, adapter.ErrUnsupported))
	// Output:
	// stored: true
	// unsupported: true
}

// A test that opened the adapter reaches its own value.
func ExamplePartialAdapter() {
	var store adapter.PartialAdapter
	store, err := adapter.Partial(mailTokens{})
	if err != nil {
		fmt.Println(err)
		return
	}
	tokens := store.Unwrap().(mailTokens)
	fmt.Println(len(tokens), len(store.Missing()))
	// Output: 0 17
}

// A method that changes only what the caller set.
func ExampleTo() {
	user := adapter.User{ID: "1", Name: new("Ada"), Email: "ada@example.com"}
	adapter.UserUpdate{ID: "1", Name: adapter.To[*string](nil)}.Apply(&user)
	fmt.Println(user.Name == nil, user.Email)
	// Output: true ada@example.com
}
