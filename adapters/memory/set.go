package memory

// set holds records that know their index in it. A record is added and
// removed in constant time, and takes eight bytes plus its place.
type set[T interface{ at() *place }] []T

// place is the index of a record in its set.
type place int

func (p *place) at() *place { return p }

func (s *set[T]) add(record T) {
	*record.at() = place(len(*s))
	*s = append(*s, record)
}

// remove moves the last record to the place of the removed one.
func (s *set[T]) remove(record T) {
	var none T
	i, end := *record.at(), len(*s)-1
	last := (*s)[end]
	(*s)[i], *last.at() = last, i
	(*s)[end] = none
	*s = (*s)[:end]
}
