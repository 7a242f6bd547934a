import { expect, it } from 'vitest'
import { createGitHubSimulator } from './simulator.ts'

const create = (options: object) => () => createGitHubSimulator(options)

it.each<[object, string]>([
  [
    { acceptAnyTokens: true },
    'acceptAnyTokens is not a known field. Did you mean "acceptAnyToken"?',
  ],
  [{ whatever: 1 }, 'whatever is not a known field'],
  [
    { limits: { perMinuet: 1 } },
    'limits.perMinuet is not a known field. Did you mean "perMinute"?',
  ],
  [{ app: { id: 1, slug: 'a', key: '' } }, 'app.key is not a known field'],
  [{ tokens: [{ token: 'a', name: 'b' }] }, 'tokens.0.name is not a known field'],
  [{ tokens: { token: 'a', login: 'b' } }, 'tokens must be a list'],
  [{ limits: 5 }, 'limits must be an object'],
])('%j is refused: it would be ignored silently', (options, problem) => {
  expect(create(options)).toThrow(`createGitHubSimulator: ${problem}`)
})

it('all problems are named at once', () => {
  expect(create({ random1: 0, limits: { perDay: 1 } })).toThrow(/random1 .*; limits\.perDay /)
})

it('an undefined option counts as absent', () => {
  expect(create({ limits: undefined, app: undefined, tokens: undefined })).not.toThrow()
})
