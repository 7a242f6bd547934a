// Goal: Holdfast learns its own account as soon as GitHub can answer, and nothing waits for it
// forever.
import { expect, it } from 'vitest'
import type { OwnAccount } from '../../github.ts'
import { systemScheduler } from '../../scheduler.ts'
import { watchOwnAccount } from './own-account-watch.ts'

const app: OwnAccount = { login: 'our-app', id: 5, appId: 12, kind: 'app' }
const still = { ...systemScheduler, afterInBackground: () => () => undefined }

function watch(...answers: (OwnAccount | null | Error)[]) {
  const logged: string[] = []
  const say = (...words: unknown[]): void => void logged.push(String(words.at(-1)))
  const ownAccount = async () => {
    const answer = answers.shift() ?? null
    if (answer instanceof Error) throw answer
    return answer
  }
  const log = { debug: say, info: say, warn: say, error: say }
  const watching = watchOwnAccount({ github: { ownAccount }, scheduler: still, log })
  return { watching, logged, left: answers }
}

it('any answer ends the first question for the own account', async () => {
  for (const answer of [app, null, new Error('502')]) {
    const { watching } = watch(answer)
    expect(watching.current()).toBeNull()
    let isOver = false
    void watching.firstAsked.then(() => (isOver = true))
    await Promise.resolve()
    expect(isOver).toBe(false)
    await watching.kick()
    await watching.firstAsked
    expect(watching.current()).toBe(answer === app ? app : null)
    expect(watching.isRefused()).toBe(answer === null)
  }
})

it('GitHub is asked until the own account is known, and not after that', async () => {
  const { watching, logged, left } = watch(new Error('502'), null, app, { ...app, login: 'other' })
  for (let n = 0; n < 5; n++) await watching.kick()
  expect(watching.current()).toBe(app)
  expect(left).toHaveLength(1)
  expect(logged).toEqual([
    'Could not ask GitHub which account the credentials belong to',
    'GitHub rejects the credentials. To see what is wrong: holdfast doctor',
    'Signed in to GitHub',
  ])
})

it('the sandbox knows its own account without a question', async () => {
  const say = (): void => undefined
  const log = { debug: say, info: say, warn: say, error: say }
  const watching = watchOwnAccount({ github: null, scheduler: still, log })
  await watching.firstAsked
  expect(watching.current()).toMatchObject({ login: 'holdfast', kind: 'app' })
})
