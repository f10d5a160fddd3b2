package kit

import "testing"

// TestMethodsHaveSignatures compares the table of methods with the interfaces.
func TestMethodsHaveSignatures(t *testing.T) {
	t.Parallel()
	if len(methods) != len(signatures) {
		t.Fatalf("the table has %d methods, the interfaces %d", len(methods), len(signatures))
	}
	for i, m := range methods {
		if m.Name != signatures[i].name {
			t.Errorf("method %d of the table is %s, of the interfaces %s", i, m.Name, signatures[i].name)
		}
	}
}
