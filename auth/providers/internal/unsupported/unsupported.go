// Package unsupported lists sign-in services that the catalogue can't use.
package unsupported

// Service is one of these services, with the ID that it would have.
type Service struct{ ID, Reason string }

// Services returns all, ordered by ID.
func Services() []Service {
	return []Service{
		{"bitly", "its answers have no identifier of a person that is documented to be stable"},
		{"lastfm", "it has a protocol of its own, with signed calls and without a state"},
		{"onedrive", "its API is retired; microsoft-entra-id signs in the same people"},
		{"seatalk", "its sign-in is not publicly documented"},
		{"typetalk", "the service has ended"},
		{"wepay", "the version of its API that signed people in is no longer documented"},
		{"yammer", "its own OAuth ended in July 2025; microsoft-entra-id signs in the same people"},
	}
}
