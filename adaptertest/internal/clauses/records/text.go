package records

// swapCase swaps the case of ASCII letters.
func swapCase(s string) string {
	b := []byte(s)
	for i, x := range b {
		switch {
		case 'a' <= x && x <= 'z':
			b[i] = x - 'a' + 'A'
		case 'A' <= x && x <= 'Z':
			b[i] = x - 'A' + 'a'
		}
	}
	return string(b)
}
