// Package tap is a reverse proxy between agents and the servers of models. It passes every
// byte through, and publishes a copy: the streams of models as deltas, and the results of
// tools and human messages that the next request has.
//
// It promises:
//   - Bodies, status and trailers are those of the other side, byte for byte, and header
//     fields have the same names and values, except for hop-by-hop fields.
//   - The copy never delays the original. It waits in bounded memory; what does not fit is
//     lost, counted, and reported in the session.
//   - Inputs of one session are published in order. An input is stored once, also where its
//     publishing is repeated.
//   - No key, cookie, query or body is logged.
//   - Requests reach the listed upstreams and no others. Redirects are not followed.
//   - While a session is stopped, none of its requests reach a model, and its client gets the
//     ends of package final. Nothing else is changed by that.
//
// A crash loses what was not published, and which answers belong to which session where no
// header and no field of the request names it.
package tap
