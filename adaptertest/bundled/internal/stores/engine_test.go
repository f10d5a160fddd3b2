package stores

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/testcontainers/testcontainers-go"
)

// lost is a container that the engine has lost: its calls don't end.
type lost struct{ testcontainers.Container }

func (lost) Terminate(ctx context.Context, _ ...testcontainers.TerminateOption) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestCloseGivesUpALostContainer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := engine{containers: []testcontainers.Container{lost{}, lost{}}}
		if err := e.close(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}
