// Package unsupported lists sign-in services that the catalogue can't use.
package unsupported

// Service is one of these services, with the ID that it would have.
type Service struct{ ID, Reason string }

// Services returns all, ordered by ID.
func Services() []Service {
	return []Service{
		{"bitly", "its profile contains no identifier that is documented to be stable"},
		{"lastfm", "it has its own protocol, with signed calls and without a state"},
		{"onedrive", "its API is retired; microsoft-entra-id signs in the same people"},
		{"seatalk", "its sign-in is not publicly documented"},
		{"typetalk", "the service has ended"},
		{"wepay", "the API version with sign-in is no longer documented"},
		{"yammer", "its own OAuth ended in July 2025; microsoft-entra-id signs in the same people"},
	}
}
