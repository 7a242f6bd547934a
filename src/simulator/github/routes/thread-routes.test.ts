// Goal: the files of a pull request are what the test gave, and its numbers agree with them.
import { beforeEach, describe, expect, it } from 'vitest'
import {
  baseSha,
  number,
  repo,
  startSimulatorClient,
  type SimulatorClient,
} from '../../../../test/simulator/simulator-client.ts'

let client: SimulatorClient
beforeEach(async () => {
  client = await startSimulatorClient()
})

const shaOf = (letter: string): string => letter.repeat(40)

async function filesOf(pull: number, query = ''): Promise<readonly Record<string, unknown>[]> {
  const { data } = await client.request(`GET /repos/${repo}/pulls/${pull}/files${query}`)
  return data as Record<string, unknown>[]
}

describe('the files of a pull request', () => {
  const patch = '@@ -1,2 +1,3 @@\n same\n-one\n+One\n+two'
  const added = { filename: 'src/a b.ts', status: 'added', patch: '@@ -0,0 +1 @@\n+x' } as const

  beforeEach(() => {
    client.github.addPull(repo, {
      ...{ number: 9, headSha: shaOf('9'), baseSha },
      files: [{ filename: 'a.ts', patch }, added, { filename: 'logo.png' }],
    })
  })

  it('have patches, and are counted in the pull request', async () => {
    expect(await filesOf(9)).toMatchObject([
      { filename: 'a.ts', status: 'modified', additions: 2, deletions: 1, changes: 3, patch },
      { filename: 'src/a b.ts', status: 'added', additions: 1, deletions: 0, changes: 1 },
      { filename: 'logo.png', changes: 0 },
    ])
    const binary = (await filesOf(9))[2]
    expect(binary).not.toHaveProperty('patch')
    const { data } = await client.request(`GET /repos/${repo}/pulls/9`)
    expect(data).toMatchObject({ changed_files: 3, additions: 3, deletions: 1 })
  })

  it('have addresses at the head, with a path that can be used', async () => {
    const [, file] = await filesOf(9)
    expect(file).toMatchObject({
      blob_url: `https://github.com/${repo}/blob/${shaOf('9')}/src%2Fa%20b.ts`,
      contents_url: expect.stringContaining(`src%2Fa%20b.ts?ref=${shaOf('9')}`),
    })
  })

  it('change with a push that names others, and stay with one that names none', async () => {
    client.github.push(repo, 9, shaOf('8'), { files: [added] })
    expect(await filesOf(9)).toMatchObject([{ filename: 'src/a b.ts' }])
    client.github.push(repo, 9, shaOf('7'))
    expect(await filesOf(9)).toMatchObject([{ filename: 'src/a b.ts' }])
  })

  it('come in pages', async () => {
    expect(await filesOf(9, '?per_page=2&page=2')).toMatchObject([{ filename: 'logo.png' }])
  })

  it('are one added line if the test named none', async () => {
    expect(await filesOf(number)).toMatchObject([{ status: 'added', additions: 1, deletions: 0 }])
  })

  it('do not exist for an issue', async () => {
    client.github.addIssue(repo, { number: 10 })
    expect((await client.request(`GET /repos/${repo}/pulls/10/files`)).status).toBe(404)
  })
})
