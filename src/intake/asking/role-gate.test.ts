// Goal: who may start a type that requires a role, and the reason that others get.
import { describe, expect, it } from 'vitest'
import { bot, newThread, person } from '../../../test/intake/payloads.ts'
import { roles, type Role } from '../../domain/role.ts'
import type { RoleAnswer } from '../../github.ts'
import { refuseSender } from './role-gate.ts'
import { readEvent } from '../events/webhook-event.ts'

const thread = newThread()
const sentBy = (sender: object | null) =>
  readEvent('guid', 'pull_request', { ...thread.on('opened', 'a', 1).payload, sender })

const answering = (answer: RoleAnswer) => ({ roleOf: async () => answer })

async function reasonFor(sender: object | null, answer: RoleAnswer, least: Role = 'write') {
  return (await refuseSender(sentBy(sender), least, answering(answer)))?.reason ?? null
}

describe('a role', () => {
  it('that is sufficient is accepted, and one that is not is refused', async () => {
    for (const [has, role] of roles.entries()) {
      for (const [needs, least] of roles.entries()) {
        const expected = has >= needs ? null : 'sender-role'
        expect([role, least, await reasonFor(person('mona'), role, least)]).toEqual([
          role,
          least,
          expected,
        ])
      }
    }
  })

  it.each([
    ['none', 'sender-not-member'],
    ['no-such-user', 'sender-unknown'],
    ['cannot-ask', 'role-unknown'],
  ] as const)('that is %s is refused as %s', async (answer, reason) => {
    expect(await reasonFor(person('mona'), answer)).toBe(reason)
  })

  it('of a bot, of an unknown sender or in the sandbox is not asked for', async () => {
    const roleOf = () => Promise.reject(new Error('asked'))
    const refusal = (sender: object | null) => refuseSender(sentBy(sender), 'read', { roleOf })
    expect(await refusal(bot('x[bot]'))).toMatchObject({ reason: 'sender-is-bot' })
    expect(await refusal(null)).toMatchObject({ reason: 'sender-unknown' })
    expect(await refusal(person('ghost'))).toMatchObject({ reason: 'sender-unknown' })
    const sandbox = await refuseSender(sentBy(person('mona')), 'read', null)
    expect(sandbox).toMatchObject({ reason: 'role-unknown' })
  })

  it('is asked for by the repository’s GitHub id, which the event contains', async () => {
    const asked: unknown[] = []
    const roleOf = async (place: unknown) => {
      asked.push(place)
      return 'write' as const
    }
    const event = sentBy(person('mona'))
    await refuseSender(event, 'read', { roleOf })
    expect(event.repoId).not.toBeNull()
    expect(asked).toEqual([{ repo: event.repo, repoGithubId: event.repoId }])
  })

  it('in a refusal is named together with the person and the required role', async () => {
    const refusal = await refuseSender(sentBy(person('mona')), 'write', answering('read'))
    expect(refusal?.detail).toBe('mona has the role read; write is needed')
  })

  it('that GitHub does not return now is asked for again later, not refused', async () => {
    const roleOf = () => Promise.reject(new Error('502'))
    await expect(refuseSender(sentBy(person('mona')), 'read', { roleOf })).rejects.toThrow('502')
  })
})
