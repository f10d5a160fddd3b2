package memory

// set holds records that know their place in it, so that one is added and
// removed in constant time and costs eight bytes and its place.
type set[T interface{ at() *place }] []T

// place is the index of a record in its set.
type place int

func (p *place) at() *place { return p }

func (s *set[T]) add(record T) {
	*record.at() = place(len(*s))
	*s = append(*s, record)
}

// remove puts the last record in the place of the one that goes.
func (s *set[T]) remove(record T) {
	var none T
	i, end := *record.at(), len(*s)-1
	last := (*s)[end]
	(*s)[i], *last.at() = last, i
	(*s)[end] = none
	*s = (*s)[:end]
}
