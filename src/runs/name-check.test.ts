// Goal: the question to GitHub what a name means delays no caller for long, and costs little.
import { pino } from 'pino'
import { expect, it } from 'vitest'
import { StoreUnavailableError } from '../errors.ts'
import { VirtualTime } from '../simulation/virtual-time.ts'
import { NameCheck, type NameSource } from './name-check.ts'

const minute = 60_000
type Answer = ReturnType<NameSource['repositoryNamed']>

function checkOver(answer: (name: string) => Answer, storeFails = (): boolean => false) {
  const time = new VirtualTime(0)
  const asked: string[] = []
  const learnt: unknown[] = []
  const check = new NameCheck({
    source: { repositoryNamed: (name) => (asked.push(name), answer(name)) },
    store: {
      repositories: {
        learn: async (...lesson) => {
          if (storeFails()) throw new StoreUnavailableError('store_unavailable', 'gone')
          learnt.push(lesson.slice(0, 3))
        },
      },
    },
    clock: time,
    scheduler: time,
    log: pino({ level: 'silent' }),
  })
  return { time, asked, learnt, check }
}

const answers = async (name: string) => ({ githubId: 7, name: name.toUpperCase() })

it('the check stores GitHub’s answer, and asks once for all callers', async () => {
  const { check, asked, learnt } = checkOver(answers)
  const both = [check.repositoryIdOf('acme/a', 7), check.repositoryIdOf('acme/a', 8)]
  expect(await Promise.all(both)).toEqual([7, 7])
  expect(asked).toEqual(['acme/a'])
  expect(learnt).toEqual([
    ['acme/a', 7, null],
    ['acme/a', 7, 'now'],
  ])
})

it('the check asks about a name at most once a minute, also if GitHub did not answer', async () => {
  const { check, asked, time } = checkOver(() => Promise.reject(new Error('no answer')))
  for (let n = 0; n < 5; n++) expect(await check.repositoryIdOf('acme/a', 7)).toBeNull()
  expect(asked).toHaveLength(1)
  await time.pass(minute)
  await check.repositoryIdOf('acme/a', 7)
  expect(asked).toHaveLength(2)
})

it('the check asks about 30 names in a minute, and continues in the next one', async () => {
  const { check, asked, time } = checkOver(answers)
  for (let n = 0; n < 100; n++) {
    expect(await check.repositoryIdOf(`acme/${n}`, 7)).toBe(n < 30 ? 7 : null)
  }
  expect(asked).toHaveLength(30)
  await time.pass(minute)
  expect(await check.repositoryIdOf('acme/99', 7)).toBe(7)
})

it('no caller waits for more than five seconds, and a late answer is still used', async () => {
  const late = Promise.withResolvers<Awaited<Answer>>()
  const { check, learnt, time } = checkOver(() => late.promise)
  const waiting = check.repositoryIdOf('acme/a', 7)
  await time.pass(5000)
  expect(await waiting).toBeNull()
  expect(await check.repositoryIdOf('acme/a', 7)).toBeNull()
  late.resolve({ githubId: 7, name: 'acme/a' })
  await time.drain()
  expect(await check.repositoryIdOf('acme/a', 7)).toBe(7)
  expect(learnt).toHaveLength(2)
})

it('the check reports that the store failed, and asks again after that', async () => {
  let fails = true
  const { check, time } = checkOver(answers, () => fails)
  await expect(check.repositoryIdOf('acme/a', 7)).rejects.toThrow(StoreUnavailableError)
  fails = false
  await time.drain()
  expect(await check.repositoryIdOf('acme/a', 7)).toBe(7)
})

it('a stop ends every wait, and nothing is written after that', async () => {
  const late = Promise.withResolvers<Awaited<Answer>>()
  const { check, asked, learnt, time } = checkOver(() => late.promise)
  const waiting = check.repositoryIdOf('acme/a', 7)
  check.stop()
  expect(await waiting).toBeNull()
  late.resolve({ githubId: 7, name: 'acme/a' })
  await time.drain()
  expect(learnt).toEqual([])
  expect(await check.repositoryIdOf('acme/b', 7)).toBeNull()
  expect(asked).toEqual(['acme/a'])
})
