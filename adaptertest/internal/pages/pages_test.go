package pages

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestClause(t *testing.T) {
	const base = "https://github.com/gatehouse-go/gatehouse/blob/"
	for version, want := range map[string]string{
		"v0.1.0":                             base + "adaptertest/v0.1.0/adaptertest/clauses/vtok.md#vtok-04",
		"v1.2.3-rc.1":                        base + "adaptertest/v1.2.3-rc.1/adaptertest/clauses/vtok.md#vtok-04",
		"(devel)":                            base + "main/adaptertest/clauses/vtok.md#vtok-04",
		"v0.0.0-20261126013512-0123456789ab": base + "main/adaptertest/clauses/vtok.md#vtok-04",
	} {
		assert.Equal(t, want, Clause("VTOK-04", version), version)
	}
}
