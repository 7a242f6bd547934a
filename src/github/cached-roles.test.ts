// Goal: a role is requested once in a while and once at a time, and a failure is never kept.
import { expect, it } from 'vitest'
import { ManualClock, named } from '../../test/github/github-under-test.ts'
import type { RepositoryRef, RoleAnswer } from '../github.ts'
import { cachedRoles } from './cached-roles.ts'

const minute = 60_000

function cachedOver(answer: () => Promise<RoleAnswer>) {
  const clock = new ManualClock()
  const asked: string[] = []
  const source = {
    roleOf: async ({ repo, repoGithubId }: RepositoryRef, login: string) => {
      asked.push(`${repoGithubId ?? repo} ${login}`)
      return await answer()
    },
  }
  return { clock, asked, roles: cachedRoles(source, clock) }
}

it.each<[RoleAnswer, number]>([
  ['admin', 5],
  ['read', 5],
  ['cannot-ask', 5],
  ['none', 1],
  ['no-such-user', 1],
])('%s is kept for %i minutes', async (answer, minutes) => {
  const { clock, asked, roles } = cachedOver(async () => answer)
  expect(await roles.roleOf(named('acme/widgets'), 'mona')).toBe(answer)
  clock.pass(minutes * minute - 1)
  expect(await roles.roleOf(named('acme/widgets'), 'mona')).toBe(answer)
  expect(asked).toHaveLength(1)
  clock.pass(1)
  await roles.roleOf(named('acme/widgets'), 'mona')
  expect(asked).toHaveLength(2)
})

it('people and repositories are kept apart, but spellings are not', async () => {
  const { asked, roles } = cachedOver(async () => 'write')
  await roles.roleOf(named('acme/widgets'), 'mona')
  await roles.roleOf(named('Acme/Widgets'), 'Mona')
  await roles.roleOf(named('acme/widgets'), 'lisa')
  await roles.roleOf(named('acme/gadgets'), 'mona')
  expect(asked).toEqual(['acme/widgets mona', 'acme/widgets lisa', 'acme/gadgets mona'])
})

it('a role in one repository is not used for a later repository with its name', async () => {
  const { asked, roles } = cachedOver(async () => 'write')
  await roles.roleOf({ repo: 'acme/widgets', repoGithubId: 7 }, 'mona')
  await roles.roleOf({ repo: 'acme/renamed', repoGithubId: 7 }, 'mona')
  await roles.roleOf({ repo: 'acme/widgets', repoGithubId: 8 }, 'mona')
  expect(asked).toEqual(['7 mona', '8 mona'])
})

it('a question that is already open is shared, not repeated', async () => {
  const answer = Promise.withResolvers<RoleAnswer>()
  const { asked, roles } = cachedOver(() => answer.promise)
  const both = Promise.all([
    roles.roleOf(named('acme/widgets'), 'mona'),
    roles.roleOf(named('acme/widgets'), 'mona'),
  ])
  answer.resolve('maintain')
  expect(await both).toEqual(['maintain', 'maintain'])
  expect(asked).toHaveLength(1)
})

it('a rejection reaches all callers that wait, and no later one', async () => {
  let fails = true
  const { asked, roles } = cachedOver(async () => {
    if (fails) throw new Error('not now')
    return 'triage'
  })
  const waiting = [1, 2].map(() => roles.roleOf(named('acme/widgets'), 'mona'))
  const results = await Promise.allSettled(waiting)
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  fails = false
  expect(await roles.roleOf(named('acme/widgets'), 'mona')).toBe('triage')
  expect(asked).toHaveLength(2)
})
