package sessions

import (
	"testing"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/clauses/apart"
)

func TestClauseFilesAreApart(t *testing.T) {
	t.Parallel()
	apart.Files(t)
}
