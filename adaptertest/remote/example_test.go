package remote_test

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/gatehouse-go/gatehouse/adaptertest/remote"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// users has one method of the contract.
type users struct{}

func (users) GetUser(_ context.Context, id string) (*adapter.User, error) {
	return &adapter.User{ID: id, Email: "ada@example.com"}, nil
}

// A program serves its adapter on standard input and output, here on texts.
func ExampleServe() {
	in := strings.NewReader(`{"id":1,"call":"open","args":[{"store":"s1"}]}` + "\n")
	out, written := io.Pipe()
	go func() {
		err := remote.Serve(in, written, remote.Program{
			Hello: remote.Hello{Name: "users"},
			Open:  func(context.Context, remote.Opening) (adapter.Adapter, error) { return adapter.Partial(users{}) },
		})
		_ = written.CloseWithError(err)
	}()
	answer, err := io.ReadAll(out)
	fmt.Print(string(answer), err, "\n")
	// Output:
	// {"id":1,"result":{"handle":1,"methods":["getUser"],"requiresEmail":false}}
	// <nil>
}
