package stores

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/moby/moby/client"
	"github.com/stretchr/testify/assert"
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
		assert.ErrorIs(t, e.close(t.Context()), context.DeadlineExceeded)
	})
}

func TestNoContainerIsMade(t *testing.T) {
	e := engine{docker: &client.Client{}}
	_, _, err := e.run(t.Context(), "Redis", nil, false, func([]testcontainers.ContainerCustomizer, []int) (testcontainers.Container, error) {
		return testcontainers.Run(t.Context(), "", testcontainers.CustomizeRequestOption(func(*testcontainers.GenericContainerRequest) error {
			return errors.New("no space left on device")
		}))
	})
	assert.Truef(t, err != nil && strings.Contains(err.Error(), "Redis") && strings.Contains(err.Error(), "no space left on device"),
		"got %v", err)
}
