package kit

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMethodsHaveSignatures compares the table of methods with the interfaces.
func TestMethodsHaveSignatures(t *testing.T) {
	t.Parallel()
	require.Equalf(t, len(signatures), len(methods),
		"the table has %d methods, the interfaces %d", len(methods), len(signatures))
	for i, m := range methods {
		assert.Equalf(t, signatures[i].name, m.Name,
			"method %d of the table is %s, of the interfaces %s", i, m.Name, signatures[i].name)
	}
}
