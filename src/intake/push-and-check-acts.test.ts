// Goal: a push is a job of its branch, and a rerun of a check is a rerun of the run it belongs to.
import { describe, expect, it } from 'vitest'
import { acts, claimOf } from '../../test/intake/acts-world.ts'
import { newThread, person, shaOf } from '../../test/intake/payloads.ts'

const thread = newThread()

describe('a push and a check', () => {
  it('a push is a job of its branch', async () => {
    const push = {
      ref: 'refs/heads/main',
      after: shaOf('a'),
      repository: thread.repository,
      sender: person('mona'),
    }
    expect(await claimOf({ types: { build: { on: { push: [] } } } }, 'push', push)).toMatchObject({
      type: 'build',
      key: `${thread.repo}:push:refs/heads/main:sha-${shaOf('a')}`,
      subjectName: 'refs/heads/main',
      headSha: shaOf('a'),
      pr: null,
    })
  })

  it('a check belongs to our run of its commit', async () => {
    const payload = {
      action: 'rerequested',
      check_run: { name: 'holdfast/review', head_sha: shaOf('own') },
      repository: thread.repository,
      sender: person('mona'),
    }
    const runs = [{ pr: 9, baseSha: shaOf('b'), headSha: shaOf('own') }]
    expect(await claimOf({ runs }, 'check_run', payload)).toMatchObject({ pr: 9, rerun: true })
    expect(await acts({}, 'check_run', payload)).toMatchObject([
      { act: 'note', outcome: { reason: 'head-unknown' } },
    ])
  })
})

describe('a check of a commit that belongs to two pull requests', () => {
  const commits = { baseSha: shaOf('b'), headSha: shaOf('own') }
  const runs = [
    { id: 'run_six', pr: 6, ...commits },
    { id: 'run_five', pr: 5, ...commits },
  ]
  const shown = [
    { runId: 'run_six', providerId: '12', markerKey: 'key of six' },
    { runId: 'run_five', providerId: '11', markerKey: 'key of five' },
    { runId: 'run_five', providerId: '13', markerKey: 'repeated' },
  ]
  const pressed = async (check: object): Promise<number | null> => {
    const payload = {
      action: 'rerequested',
      check_run: { name: 'holdfast/review', head_sha: shaOf('own'), ...check },
      repository: thread.repository,
      sender: person('mona'),
    }
    return (await claimOf({ runs, shown }, 'check_run', payload)).pr
  }

  it('is rerun for the pull request that the check belongs to', async () => {
    expect(await pressed({ id: 11, external_id: 'key of five' })).toBe(5)
    expect(await pressed({ id: 12, external_id: 'key of six' })).toBe(6)
    expect(await pressed({ id: 13, external_id: 'repeated' })).toBe(5)
  })

  it('is found by its key if a copy was rerun, and by its id if both have one key', async () => {
    expect(await pressed({ id: 99, external_id: 'key of five' })).toBe(5)
    expect(await pressed({ id: 11, external_id: 'key of six' })).toBe(5)
  })

  it('is rerun for the newest run if the check is unknown', async () => {
    expect(await pressed({ id: 99, external_id: 'unknown' })).toBe(6)
    expect(await pressed({})).toBe(6)
  })
})
