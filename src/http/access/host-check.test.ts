import { describe, expect, test } from 'vitest'
import { hostCheck } from './host-check.ts'

describe('a server that listens only on this machine', () => {
  const isOurs = hostCheck({ host: '127.0.0.1', publicUrl: 'https://Holdfast.example.com/base' })

  test.each([
    ...['127.0.0.1:8787', 'localhost', 'LOCALHOST:1', 'app.localhost:8787', '[::1]:8787'],
    ...['127.9.9.9', 'holdfast.example.com', 'holdfast.EXAMPLE.com.:443'],
  ])('answers to %s', (host) => {
    expect(isOurs(host)).toBe(true)
  })

  test.each([
    ...['evil.example', 'evil.example:8787', '127.0.0.1.evil.example', 'localhost.evil.example'],
    ...['192.168.0.1', '', 'a b', 'user@localhost', 'localhost:8787:1', 'localhost/x'],
    undefined,
  ])('does not answer to %s', (host) => {
    expect(isOurs(host)).toBe(false)
  })
})

test.each(['0.0.0.0', '::', '192.168.0.7', 'holdfast.lan'])(
  'a server that listens on %s answers to any name',
  (host) => {
    const isOurs = hostCheck({ host, publicUrl: null })
    expect([isOurs('anything.example'), isOurs(undefined)]).toEqual([true, true])
  },
)
