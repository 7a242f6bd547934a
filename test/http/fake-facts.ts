/** Values that all fakes share. */
export const startedAt = Date.parse('2026-01-31T12:00:00Z')
export const theRunId = 'run_0000000001abcdefghijkmnpqr'
